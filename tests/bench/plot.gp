# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# gnuplot -e "kernel='6.1'; data='plot.data'; file='bench.svg'" plot.gp
# A line of data: operation/depth, module ours and stock, system ours and stock
set terminal svg size 1000,760 dynamic font 'sans-serif,12' background '#ffffff'
set output file
set multiplot layout 2,1 title sprintf('Instructions of one operation, kernel %s (logarithmic)', kernel)
set style data histogram
set style histogram clustered gap 1
set style fill solid 0.9 noborder
set grid ytics
set logscale y
set xtics rotate by -40 left
set key outside top right horizontal
set yrange [300:*]
set title 'in the module'
plot data using 2:xtic(1) title 'ours' linecolor rgb '#2a6fb0', '' using 3 title 'stock' linecolor rgb '#b0b0b0'
set yrange [30000:*]
set title 'in the whole system'
plot data using 4:xtic(1) title 'ours' linecolor rgb '#2a6fb0', '' using 5 title 'stock' linecolor rgb '#b0b0b0'
