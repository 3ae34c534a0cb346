# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# For Sphinx: "make htmldocs" (scripts/htmldocs).

project = "rpcrdma"
author = "the authors of rpcrdma"
copyright = "GPL-2.0 OR BSD-3-Clause"
html_theme = "alabaster"
html_theme_options = {"page_width": "76em"}
html_show_sphinx = False
# Examples are of shells, logs and XDR
highlight_language = "none"
