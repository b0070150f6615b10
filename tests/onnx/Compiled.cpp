// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/Harness.h"
#include "tests/onnx/Cases.h"

namespace tenon::test {

std::string checkCompiled(const OnnxCase &test, const onnx::Imported &imported,
                          const std::vector<reference::Tensor> &inputs) {
  RunConfig setup;
  auto model = Compiled::compile(imported.graph, setup.options);
  if (!model)
    return "compiled: " + str(model.errors());
  Oracle oracle;
  oracle.graph = (*model)->graph();
  oracle.inputs = operandsOf(imported, inputs);
  auto results = execute(**model, oracle, setup);
  if (!results)
    return "executed: " + str(results.errors());
  std::string why = compareAll(test, imported, *results);
  return why.empty() ? "" : "compiled: " + why;
}

} // namespace tenon::test
