// SPDX-License-Identifier: Apache-2.0
#include "dialects/support/Text.h"

#include <algorithm>

namespace tenon {

std::string countText(int64_t count, std::string_view one,
                      std::string_view many) {
  std::string text = std::to_string(count) + " ";
  if (count == 1 || many.empty())
    text += one;
  else
    text += many;
  return count != 1 && many.empty() ? text + "s" : text;
}

/// How many letters to insert, remove or change (Levenshtein), where it is
/// less than `limit`; else at least `limit`.
static size_t editDistance(std::string_view a, std::string_view b,
                           size_t limit) {
  auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  };
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) >= limit)
    return limit;
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t change = diagonal + (lower(a[i - 1]) != lower(b[j - 1]));
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
    // No later row has a smaller minimum.
    if (*std::min_element(row.begin(), row.end()) >= limit)
      return limit;
  }
  return row[b.size()];
}

std::string closest(std::string_view word,
                    const std::vector<std::string> &known) {
  constexpr size_t kLongest = 64;
  if (word.size() > kLongest)
    return {};
  std::string best;
  size_t bestDistance = std::max<size_t>(word.size() / 3, 2) + 1;
  for (const std::string &candidate : known)
    if (size_t d = editDistance(word, candidate, bestDistance);
        d < bestDistance) {
      bestDistance = d;
      best = candidate;
    }
  return best;
}

} // namespace tenon
