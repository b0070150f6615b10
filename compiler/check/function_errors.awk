# Rows of the table of docs/accuracy.md whose first cell is code, as elements of
# an array of FunctionError:
#
#   | `GELU mode=gelu_erf` | 2^-20 | | 2^-126 | |
#   {"GELU mode=gelu_erf", 0x1p-20, 0x1p-20, 0x1p-126, 0},

function number(text) {
  gsub(/ /, "", text)
  sub(/^2\^/, "0x1p", text)
  return text == "" ? "0" : text
}

BEGIN { FS = "|" }

/^\| `/ {
  split($2, code, "`")
  large = number($4) == "0" ? number($3) : number($4)
  printf "{\"%s\", %s, %s, %s, %s},\n", code[2], number($3), large, number($5),
    number($6)
}
