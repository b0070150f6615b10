// Columns at the ends of rows, whose taps the padding cuts.
// RUN: tenon-opt %s --split-input-file --tenon-tile-groups | FileCheck %s
// RUN: tenon-opt %s --split-input-file --tenon-tile-groups=matrix-unit | FileCheck %s --check-prefix=TILES

