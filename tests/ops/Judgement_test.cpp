// SPDX-License-Identifier: Apache-2.0
// Results of compiled code are right, and wrong ones are found: every output is
// judged as `tenon check` does, as it was computed and with an error in it.
#include "compiler/check/Reference.h"
#include "dialects/graph/reference/Numeric.h"
#include "tests/e2e/Harness.h"
#include "tests/ops/GraphText.h"

#include <algorithm>
#include <cmath>

using namespace tenon;
using namespace tenon::test;

namespace {

/// A compiled graph with results, for inputs of fractions.
struct Computed {
  std::unique_ptr<check::Reference> reference;
  Tensors results;
  uint64_t id = 0; // of the one output

  /// Elements that are judged to be wrong.
  int64_t mismatches() const {
    auto judged = reference->judge(results);
    EXPECT_TRUE(judged) << str(judged.errors());
    return judged->front().result.mismatches;
  }
  std::vector<double> &data() { return results.at(id).data; }
};

/// `change` may change the inputs; they are rounded to their types behind it.
Computed compute(const std::string &text, const char *schedule,
                 const std::function<void(std::vector<double> &)> &change) {
  Computed computed;
  auto graph = parseGraph(text);
  EXPECT_TRUE(graph) << text << ": " << str(graph.errors());
  auto oracle = Oracle::unjudged(*graph);
  EXPECT_TRUE(oracle) << text << ": " << str(oracle.errors());
  for (auto &[id, tensor] : oracle->inputs) {
    change(tensor.data);
    reference::roundToDType(tensor);
  }
  RunConfig config;
  config.options.schedule = schedule;
  auto model = Compiled::compile(oracle->graph, config.options);
  EXPECT_TRUE(model) << text << ": " << str(model.errors());
  auto results = execute(**model, *oracle, config);
  EXPECT_TRUE(results) << text << ": " << str(results.errors());
  auto made = check::Reference::create(oracle->graph, oracle->inputs);
  EXPECT_TRUE(made) << text << ": " << str(made.errors());
  computed.reference = std::make_unique<check::Reference>(std::move(*made));
  computed.results = std::move(*results);
  computed.id = oracle->graph.outputPorts[0];
  return computed;
}

constexpr const char *kSchedules[] = {"avx2", "avx512", "generic"};

TEST(Judgement, IllConditionedResultsAreRightOrWrong) {
  const std::string norm = "n = LayerNorm 32x96 keep_stats=false "
                           "use_affine=false; a = Abs n; ";
  for (const std::string &text :
       {norm + "s = Add a 1; Reciprocal s", norm + "s = Add a 1; Log s",
        std::string("s = Subtract 32x96 1; Reciprocal s"),
        std::string("s = SoftMax 32x96 axis=-1; l = Log s; Reciprocal l"),
        std::string("m = MatMul 32x64 64x96; a = Abs m; Log a")})
    for (const char *schedule : kSchedules) {
      Computed computed =
          compute(text, schedule, [](std::vector<double> &data) {
            if (data.size() == 1)
              data = {1e-6};
          });
      EXPECT_EQ(computed.mismatches(), 0) << text << " " << schedule;
      // The median, which no error of rounding makes another number.
      std::vector<double> sorted = computed.data();
      std::nth_element(sorted.begin(), sorted.begin() + sorted.size() / 2,
                       sorted.end());
      double median = sorted[sorted.size() / 2];
      auto at =
          std::find(computed.data().begin(), computed.data().end(), median);
      auto largest = std::max_element(
          computed.data().begin(), computed.data().end(),
          [](double a, double b) { return std::fabs(a) < std::fabs(b); });
      for (auto wrong : {at, largest})
        for (double change : {-1.0, 1e3, double(NAN)}) {
          double right = *wrong;
          *wrong *= change;
          EXPECT_EQ(computed.mismatches(), 1)
              << text << " " << schedule << ": " << right << " " << change;
          *wrong = right;
        }
    }
}

/// Functions are off by what docs/accuracy.md states, whatever the size of
/// their results: all numbers near one, where it is the most.
TEST(Judgement, FunctionsMayBeOffByWhatIsStated) {
  for (const char *text :
       {"GELUBackward 64x64 64x64", "GELUBackward 64x64 64x64 mode=gelu_tanh",
        "GELU 64x64", "GELU 64x64 mode=gelu_tanh", "MishBackward 64x64 64x64",
        "SoftPlus 64x64 beta=2.5", "HardSwish 64x64"})
    for (double at : {-12.0, -4.0, -1.0, 0.1, 3.0})
      for (const char *schedule : kSchedules) {
        Computed computed =
            compute(text, schedule, [&](std::vector<double> &data) {
              for (size_t i = 0; i < data.size(); ++i)
                data[i] = at + std::ldexp(static_cast<double>(i), -14);
            });
        EXPECT_EQ(computed.mismatches(), 0)
            << text << " " << at << " " << schedule;
        double &value = computed.data()[1000];
        value += std::max(std::fabs(value) / 64, 1e-30);
        EXPECT_EQ(computed.mismatches(), 1)
            << text << " " << at << " " << schedule;
      }
}

/// Of functions twice as many, as 4 ulp are granted to a library.
TEST(Judgement, TenUlpAreFoundWhereNothingGrowsThem) {
  struct Case {
    const char *text;
    double ulps;
  };
  for (const Case &c : std::vector<Case>{
           {"Multiply 37x53 37x53", 10},
           {"m = Multiply 37x53 53; Add m 37x53", 10},
           {"s = Square 37x53; a = Add s 37x53; Maximum a 37x53", 10},
           {"ReduceMax 37x53 axes=1", 10},
           {"Tanh 37x53", 20},
           {"Exp 37x53", 20},
           {"Divide 37x53 37x53", 20}})
    for (const char *schedule : kSchedules) {
      // Of one size: smaller ones are measured by the others.
      Computed computed =
          compute(c.text, schedule, [](std::vector<double> &data) {
            for (double &value : data)
              value = 1.25 + std::fabs(value) / 4;
          });
      EXPECT_EQ(computed.mismatches(), 0) << c.text << " " << schedule;
      std::vector<double> &data = computed.data();
      for (size_t i = 0; i < data.size(); i += data.size() / 5)
        for (double ulps : {c.ulps, -c.ulps}) {
          double right = data[i];
          data[i] += ulps * reference::ulpOf(graph::DType::f32, right);
          EXPECT_EQ(computed.mismatches(), 1)
              << c.text << " " << schedule << " " << i;
          data[i] = right;
        }
    }
}

} // namespace
