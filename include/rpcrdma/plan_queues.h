/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#include "queue_sizes.h"
