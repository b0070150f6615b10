// SPDX-License-Identifier: Apache-2.0
//
// Einstein's sums as products of matrices.
#include "compiler/import/onnx/Conversions.h"

#include <algorithm>
#include <map>
#include <set>

namespace tenon::onnx {

namespace {

/// A tensor whose dims have letters; those of "..." are digits, from the right.
struct Term {
  Value value = kNone;
  std::string letters;
};

class Einsum {
public:
  explicit Einsum(NodeContext &n) : n(n) {}

  void run() {
    std::string equation = n.text("equation", "");
    std::erase(equation, ' ');
    size_t arrow = equation.find("->");
    if (!readTerms(equation.substr(0, arrow)))
      return;
    std::string wanted = arrow == std::string::npos
                             ? lettersByDefault(equation)
                             : withEllipsis(equation.substr(arrow + 2));
    if (!isValid(wanted) || n.failed())
      return n.refuse("this equation");
    Term result = terms[0];
    for (size_t i = 1; i < terms.size(); ++i) {
      std::string later = wanted;
      for (size_t k = i + 1; k < terms.size(); ++k)
        later += terms[k].letters;
      result = product(result, terms[i], later);
    }
    result = summed(result, wanted);
    n.out(0, ordered(result, wanted));
  }

private:
  /// Terms with one dim for each letter; false after an error.
  bool readTerms(std::string_view left) {
    std::vector<std::string> texts(1);
    for (char c : left)
      c == ',' ? void(texts.emplace_back()) : texts.back().push_back(c);
    if (texts.size() != n.numInputs()) {
      n.refuse("as many terms as operands are needed");
      return false;
    }
    for (size_t i = 0; i < texts.size(); ++i) {
      n.shape(n.in(i)); // of unknown rank: an error
      if (n.failed())
        return false;
      Sizes dims = *n.sizesOf(n.in(i));
      size_t dots = texts[i].find("...");
      if (dots != std::string::npos) {
        size_t named = texts[i].size() - 3;
        size_t count = dims.size() - std::min(named, dims.size());
        std::string digits;
        for (size_t k = count; k-- > 0;)
          digits.push_back(static_cast<char>('0' + k));
        if (count > 9)
          digits.clear();
        texts[i].replace(dots, 3, digits);
        if (digits.size() > ellipsis.size())
          ellipsis = digits;
      }
      if (texts[i].size() != dims.size()) {
        n.refuse("a letter for each dim is needed");
        return false;
      }
      terms.push_back(withoutRepeats(n.in(i), texts[i], dims));
    }
    return true;
  }

  std::string withEllipsis(std::string text) const {
    if (size_t dots = text.find("..."); dots != std::string::npos)
      text.replace(dots, 3, ellipsis);
    return text;
  }

  /// What "..." stands for, then the letters that occur once, in order.
  std::string lettersByDefault(const std::string &equation) const {
    std::string once;
    for (char c = 'A'; c <= 'z'; ++c)
      if (std::count(equation.begin(), equation.end(), c) == 1)
        once.push_back(c);
    return ellipsis + once;
  }

  /// Each letter of the result occurs in it once, and in a term.
  bool isValid(const std::string &wanted) const {
    std::set<char> known;
    for (const Term &term : terms)
      known.insert(term.letters.begin(), term.letters.end());
    return std::set<char>(wanted.begin(), wanted.end()).size() ==
               wanted.size() &&
           std::all_of(wanted.begin(), wanted.end(),
                       [&](char c) { return known.contains(c); });
  }

  /// Of dims with the same letter one is left: it goes along the diagonal.
  Term withoutRepeats(Value value, const std::string &letters,
                      const Sizes &dims) {
    Term term{value, letters};
    for (size_t i = 0; i < term.letters.size(); ++i)
      for (size_t k = term.letters.size(); --k > i;) {
        if (term.letters[k] != term.letters[i])
          continue;
        Sizes now = n.sizesOf(term.value).value_or(Sizes{});
        if (n.failed() || !isSame(now[i], now[k])) {
          n.refuse("sizes of one letter differ");
          return term;
        }
        auto first = static_cast<int64_t>(i), other = static_cast<int64_t>(k);
        Value diagonal = n.equal(n.indexAlong(term.value, first),
                                 n.indexAlong(term.value, other));
        Value zero = n.like(term.value, 0);
        term.value = n.reduce("ReduceSum", n.select(diagonal, term.value, zero),
                              {other}, false);
        term.letters.erase(k, 1);
      }
    for (size_t i = 0; i < letters.size(); ++i) {
      Size &size = sizes.try_emplace(letters[i], Size{1, ""}).first->second;
      if (isOne(dims[i]))
        continue;
      // Those that are not known must fit, which products check.
      if (size.isKnown() && dims[i].isKnown() && !isOne(size) &&
          size.number != dims[i].number)
        n.refuse("sizes of one letter differ");
      if (isOne(size) || dims[i].isKnown())
        size = dims[i];
    }
    return term;
  }

  /// The sum over all letters that are not in `kept`.
  Term summed(Term term, const std::string &kept) {
    Dims axes;
    std::string left;
    for (size_t i = 0; i < term.letters.size(); ++i)
      if (kept.find(term.letters[i]) == std::string::npos)
        axes.push_back(static_cast<int64_t>(i));
      else
        left.push_back(term.letters[i]);
    if (!axes.empty())
      term = {n.reduce("ReduceSum", term.value, axes, false), left};
    return term;
  }

  /// Dims in the order of `letters`, which are those of the term.
  Value ordered(const Term &term, const std::string &letters) {
    Dims order;
    for (char c : letters)
      order.push_back(static_cast<int64_t>(term.letters.find(c)));
    return std::is_sorted(order.begin(), order.end())
               ? term.value
               : n.transpose(term.value, order);
  }

  /// As a matrix in a batch: dims of the groups become one each. A dim of 1 is
  /// expanded, except in the batch, which is broadcast.
  Value grouped(const Term &term, const std::string &batch,
                const std::string &rows, const std::string &columns) {
    Value value = ordered(term, batch + rows + columns);
    n.shape(value);
    if (n.failed())
      return kNone;
    Sizes now = *n.sizesOf(value), full;
    bool isExpanded = false;
    for (char c : batch + rows + columns) {
      const Size &own = now[full.size()];
      bool isKept = !isOne(own) || full.size() < batch.size();
      isExpanded |= !isKept && !isOne(sizes.at(c));
      full.push_back(isKept ? own : sizes.at(c));
    }
    if (isExpanded)
      value = n.expandTo(value, full);
    auto count = static_cast<int64_t>(batch.size()),
         inner = count + static_cast<int64_t>(rows.size());
    Sizes joined(full.begin(), full.begin() + count);
    joined.push_back(productOf(full, count, inner));
    joined.push_back(productOf(full, inner, static_cast<int64_t>(full.size())));
    return n.reshapeTo(value, joined);
  }

  static bool isOne(const Size &size) { return size.number == 1; }
  static bool isSame(const Size &a, const Size &b) {
    return a.number == b.number && a.expression == b.expression;
  }

  /// The product of two terms, summed over what `later` does not have.
  Term product(Term a, Term b, const std::string &later) {
    a = summed(a, later + b.letters);
    b = summed(b, later + a.letters);
    std::string batch, rows, columns, inner;
    for (char c : a.letters)
      if (b.letters.find(c) == std::string::npos)
        rows.push_back(c);
      else if (later.find(c) == std::string::npos)
        inner.push_back(c);
      else
        batch.push_back(c);
    for (char c : b.letters)
      if (a.letters.find(c) == std::string::npos)
        columns.push_back(c);
    if (n.failed())
      return {kNone, batch + rows + columns};
    Value value = n.op("MatMul", {grouped(a, batch, rows, inner),
                                  grouped(b, batch, inner, columns)});
    if (n.failed())
      return {kNone, batch + rows + columns};
    Sizes apart = *n.sizesOf(value);
    apart.resize(batch.size());
    for (char c : rows + columns)
      apart.push_back(sizes.at(c));
    return {n.reshapeTo(value, apart), batch + rows + columns};
  }

  NodeContext &n;
  std::vector<Term> terms;
  std::map<char, Size> sizes;
  std::string ellipsis;
};

} // namespace

static void einsum(NodeContext &n) { Einsum(n).run(); }

std::span<const OpConversion> einsumConversions() {
  static constexpr OpConversion table[] = {{"Einsum", 12, einsum}};
  return table;
}

} // namespace tenon::onnx
