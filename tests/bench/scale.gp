# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# gnuplot -e "ours='FILE'; stock='FILE'; file='scale.svg'" scale.gp
# A line of data: clients, ms to connect, KiB each, ms to disconnect, ms until none is left
set terminal svg size 1000,760 dynamic font 'sans-serif,12' background '#ffffff'
set output file
set multiplot layout 2,1 title 'Clients of one server (logarithmic)'
set logscale xy
set grid
set xlabel 'clients'
set key left top
set ylabel 'MiB of the server, all clients'
plot ours using 1:($1*$3/1024) title 'ours' with linespoints linecolor rgb '#2a6fb0', stock using 1:($1*$3/1024) title 'stock' with linespoints linecolor rgb '#b0b0b0'
set ylabel 'ms until all are served'
plot ours using 1:2 title 'ours' with linespoints linecolor rgb '#2a6fb0', stock using 1:2 title 'stock' with linespoints linecolor rgb '#b0b0b0'
