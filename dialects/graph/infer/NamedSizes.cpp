// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/SizeExpr.h"
#include "dialects/graph/infer/Infer.h"

#include <algorithm>
#include <iterator>

namespace tenon::graph {

namespace {

class Names {
public:
  explicit Names(Graph &graph) : graph(graph) {}

  std::vector<Error> run() {
    for (auto &[id, tensor] : graph.tensors)
      read(tensor);
    for (const auto &[name, facts] : graph.sizeFacts)
      check(name, facts);
    if (errors.empty())
      for (const Size &size : sizes)
        bind(size);
    if (errors.empty())
      for (const Size &size : sizes)
        apply(size);
    return std::move(errors);
  }

private:
  struct Size {
    LogicalTensor *tensor;
    size_t dim;
    SizeExpr expr;

    int64_t &known() const { return (*tensor->shape)[dim]; }
    std::string text() const {
      std::string name = tensor->name.empty() ? std::to_string(tensor->id)
                                              : "\"" + tensor->name + "\"";
      return "dim " + std::to_string(dim) + " of tensor " + name + ", " +
             tensor->sizes[dim] + ",";
    }
  };

  void report(ErrorCode code, std::string message, std::string hint = "") {
    Error error;
    error.code = code;
    error.message = std::move(message);
    error.hint = std::move(hint);
    errors.push_back(std::move(error));
  }

  void read(LogicalTensor &tensor) {
    if (tensor.sizes.empty())
      return;
    if (!tensor.shape)
      tensor.shape = Dims(tensor.sizes.size(), kUnknownDim);
    if (tensor.shape->size() != tensor.sizes.size())
      return report(ErrorCode::BadRank,
                    "tensor " + std::to_string(tensor.id) + " has " +
                        std::to_string(tensor.shape->size()) + " dims and " +
                        std::to_string(tensor.sizes.size()) + " sizes",
                    "one size for each dim");
    for (size_t i = 0; i < tensor.sizes.size(); ++i) {
      if (tensor.sizes[i].empty())
        continue;
      Expected<SizeExpr> expr = SizeExpr::parse(tensor.sizes[i]);
      if (expr)
        sizes.push_back({&tensor, i, std::move(*expr)});
      else
        std::move(expr.errors().begin(), expr.errors().end(),
                  std::back_inserter(errors));
    }
  }

  /// A declaration, which some dim has to be about.
  void check(const std::string &name, const SizeFacts &facts) {
    std::vector<Error> found = checkSizeFacts(name, facts);
    if (found.empty() && std::ranges::none_of(sizes, [&](const Size &size) {
          return size.expr.name() == name;
        }))
      report(ErrorCode::BadSize,
             "the size \"" + name +
                 "\" is declared, but no dim of a tensor is that name alone",
             "a size becomes known from an input that has it");
    if (std::optional<int64_t> only = facts.onlySize(); found.empty() && only)
      numbers.emplace(name, *only);
    std::move(found.begin(), found.end(), std::back_inserter(errors));
  }

  void bind(const Size &size) {
    std::optional<std::string_view> name = size.expr.name();
    if (!name || size.known() == kUnknownDim)
      return;
    if (auto it = graph.sizeFacts.find(*name);
        it != graph.sizeFacts.end() && !it->second.allows(size.known()))
      return report(ErrorCode::BadSize,
                    size.text() + " is " + std::to_string(size.known()) +
                        ", declared to be " + it->second.str());
    auto [it, isNew] = numbers.try_emplace(std::string(*name), size.known());
    if (!isNew && it->second != size.known())
      report(ErrorCode::ShapeMismatch,
             size.text() + " is " + std::to_string(size.known()) +
                 ", but another " + std::string(*name) + " is " +
                 std::to_string(it->second),
             "a name stands for one size");
  }

  void apply(const Size &size) {
    bool isKnown = true;
    std::optional<int64_t> number = size.expr.evaluate(
        [&](std::string_view name) -> std::optional<int64_t> {
          auto it = numbers.find(name);
          isKnown &= it != numbers.end();
          return it == numbers.end() ? std::nullopt : std::optional(it->second);
        });
    if (!isKnown)
      return;
    if (!number)
      return report(ErrorCode::BadDim, size.text() + " is no size",
                    "sizes are from 0 to 2^63 - 1, and no one is divided by 0");
    if (size.known() == kUnknownDim)
      size.known() = *number;
    else if (size.known() != *number)
      report(ErrorCode::ShapeMismatch,
             size.text() + " is " + std::to_string(size.known()) +
                 ", the expression is " + std::to_string(*number));
  }

  Graph &graph;
  std::vector<Size> sizes;
  std::map<std::string, int64_t, std::less<>> numbers;
  std::vector<Error> errors;
};

} // namespace

std::vector<Error> applyNamedSizes(Graph &graph) { return Names(graph).run(); }

} // namespace tenon::graph
