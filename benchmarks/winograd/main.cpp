// SPDX-License-Identifier: Apache-2.0
// Direct convolution, F(2x2, 3x3) and F(4x4, 3x3), the last with fast math: all
// are compiled, executions take turns, medians are told. `--cold` puts other
// data into the caches before each; `--sections` tells the time of each
// section, too. `--errors` compares results with those in double instead.
//
//   winograd_bench [--cold] [--sections] [--errors] [--threads=N]
//                  [--schedule=NAME] [N,H,W,C,K ...]
#include "compiler/check/Fill.h"
#include "compiler/driver/Session.h"
#include "dialects/graph/infer/Infer.h"
#include "dialects/graph/reference/Evaluator.h"
#include "dialects/graph/reference/Tensor.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace tenon;

namespace {

constexpr double kSecondsPerShape = 0.5;
constexpr int kMinRounds = 11;
constexpr size_t kSweepBytes = 256 << 20; // beyond any cache

double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Settings {
  bool cold = false, sections = false, errors = false;
  int threads = 1;
  std::string schedule = "auto";
  std::vector<std::string> shapes;
};

[[noreturn]] void stop(const std::vector<Error> &errors) {
  for (const Error &error : errors)
    std::fprintf(stderr, "%s\n", error.message.c_str());
  std::exit(1);
}

/// One way to compute a graph, with memory of its own.
class Model {
public:
  Model(const graph::Graph &graph, const Settings &settings,
        const char *winograd, bool fastMath = false) {
    Options options;
    options.schedule = settings.schedule;
    options.winograd = winograd;
    options.fastMath = fastMath;
    auto made = Compiled::compile(graph, options);
    if (!made)
      stop(made.errors());
    compiled = std::move(*made);
    auto team = Executor::create(
        {.threads = settings.threads, .profile = settings.sections});
    if (!team)
      stop(team.errors());
    exec = std::move(*team);
    HostTensors constants;
    for (auto &[id, tensor] : inputsOf(graph)) {
      in[id] = place(id);
      const graph::LogicalTensor &t = compiled->graph().tensor(id);
      auto errors =
          reference::toMemory(tensor, t.effectiveStrides(), memory[id]);
      if (!errors.empty())
        stop(errors);
      if (t.property == graph::PropertyType::constant)
        constants[id] = in[id];
    }
    for (uint64_t id : compiled->graph().outputPorts)
      out[id] = place(id);
    if (auto ok = compiled->bindConstants(*exec, constants); !ok)
      stop(ok.errors());
    run();
    exec->resetProfile();
    times.clear();
  }

  void run() {
    double start = now();
    if (auto ok = compiled->execute(*exec, in, out); !ok)
      stop(ok.errors());
    times.push_back(now() - start);
  }

  reference::Tensor result() {
    uint64_t id = compiled->graph().outputPorts.front();
    const graph::LogicalTensor &t = compiled->graph().tensor(id);
    auto tensor = reference::fromMemory(t.dtype, *t.shape, t.effectiveStrides(),
                                        memory[id]);
    if (!tensor)
      stop(tensor.errors());
    return *tensor;
  }

  static std::map<uint64_t, reference::Tensor>
  inputsOf(const graph::Graph &graph) {
    auto values = check::fillInputs(graph, 1, check::FillMode::real);
    if (!values)
      stop(values.errors());
    return *values;
  }

  std::vector<double> times;

  void printSections() const {
    for (const auto &section : exec->profile())
      std::printf("    %-40s %10.1f us\n", section.name.c_str(),
                  1e6 * section.seconds / static_cast<double>(times.size()));
  }

private:
  HostTensor place(uint64_t id) {
    const graph::LogicalTensor &t = compiled->graph().tensor(id);
    memory[id].resize(
        reference::spannedBytes(t.dtype, *t.shape, t.effectiveStrides()));
    return {memory[id].data(), *t.shape};
  }

  std::unique_ptr<Compiled> compiled;
  std::unique_ptr<Executor> exec;
  std::map<uint64_t, std::vector<std::byte>> memory;
  HostTensors in, out;
};

/// A convolution of 3x3 taps with constant weights and bias, then a ReLU.
Expected<graph::Graph> convolution(int64_t n, int64_t h, int64_t w, int64_t c,
                                   int64_t k) {
  graph::Graph g;
  auto tensor = [&](std::optional<graph::Dims> shape, bool constant) {
    uint64_t id = g.tensors.size();
    graph::LogicalTensor &t = g.tensors[id];
    t.id = id;
    t.dtype = graph::DType::f32;
    t.shape = std::move(shape);
    if (constant)
      t.property = graph::PropertyType::constant;
    return id;
  };
  auto operation = [&](const char *kind, std::vector<uint64_t> inputs) {
    graph::Op op;
    op.id = g.ops.size();
    op.name = kind;
    op.kind = kind;
    op.inputs = std::move(inputs);
    op.outputs = {tensor(std::nullopt, false)};
    g.ops.push_back(std::move(op));
    return g.ops.back().outputs[0];
  };
  uint64_t src = tensor(graph::Dims{n, h, w, c}, false);
  uint64_t weights = tensor(graph::Dims{3, 3, c, k}, true);
  uint64_t bias = tensor(graph::Dims{k}, true);
  g.inputPorts = {src, weights, bias};
  uint64_t y = operation("Convolution", {src, weights, bias});
  for (const char *name : {"strides", "dilations", "pads_begin", "pads_end"})
    g.ops.back().attrs[name] = graph::Dims{1, 1};
  g.outputPorts = {operation("ReLU", {y})};
  if (auto errors = graph::inferGraph(g); !errors.empty())
    return errors;
  return g;
}

void sweepCaches() {
  static std::vector<char> other(kSweepBytes);
  static char value = 0;
  std::memset(other.data(), ++value, other.size());
}

/// Errors relative to the root mean square of the results, in units of 2^-24.
void printErrors(const std::string &shape, const graph::Graph &graph,
                 const Settings &settings) {
  reference::EvalOptions exact;
  exact.roundOutputs = false;
  auto expected = reference::evaluate(graph, Model::inputsOf(graph), exact);
  if (!expected)
    stop(expected.errors());
  const std::vector<double> &e = expected->begin()->second.data;
  std::printf("%-18s", shape.c_str());
  for (auto [winograd, fastMath] :
       {std::pair("never", false), {"always", false}, {"always", true}}) {
    std::vector<double> got =
        Model(graph, settings, winograd, fastMath).result().data;
    double squares = 0, errorSquares = 0, largest = 0;
    for (size_t i = 0; i < e.size(); ++i) {
      double error = got[i] - e[i];
      squares += e[i] * e[i];
      errorSquares += error * error;
      largest = std::max(largest, std::fabs(error));
    }
    double scale = std::sqrt(squares / static_cast<double>(e.size()));
    std::printf(" %12.2f %10.1f", 0x1p24 * std::sqrt(errorSquares / squares),
                0x1p24 * largest / scale);
  }
  std::printf("\n");
}

void measure(const std::string &shape, const Settings &settings) {
  long n, h, w, c, k;
  if (std::sscanf(shape.c_str(), "%ld,%ld,%ld,%ld,%ld", &n, &h, &w, &c, &k) !=
      5) {
    std::fprintf(stderr, "'%s' is not N,H,W,C,K\n", shape.c_str());
    std::exit(1);
  }
  auto graph = convolution(n, h, w, c, k);
  if (!graph)
    stop(graph.errors());
  if (settings.errors)
    return printErrors(shape, *graph, settings);
  Model direct(*graph, settings, "never"), two(*graph, settings, "always"),
      four(*graph, settings, "always", true);
  const std::array<Model *, 3> models{&direct, &two, &four};
  std::array<std::vector<double>, 3>
      ratios; // direct/two, direct/four, two/four
  double end = now() + kSecondsPerShape;
  for (int round = 0; round < kMinRounds || now() < end; ++round) {
    for (Model *model : models) {
      if (settings.cold)
        sweepCaches();
      model->run();
    }
    ratios[0].push_back(direct.times.back() / two.times.back());
    ratios[1].push_back(direct.times.back() / four.times.back());
    ratios[2].push_back(two.times.back() / four.times.back());
  }
  double flops = 18.0 * static_cast<double>(n * h * w * c * k);
  std::printf("%-18s", shape.c_str());
  for (Model *model : models) {
    double time = median(model->times);
    std::printf(" %10.1f us %6.1f", time * 1e6, flops / time * 1e-9);
  }
  for (const std::vector<double> &ratio : ratios)
    std::printf(" %7.2f", median(ratio));
  std::printf("\n");
  if (settings.sections)
    for (Model *model : models)
      model->printSections();
}

} // namespace

int main(int argc, char **argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (arg == "--cold")
      settings.cold = true;
    else if (arg == "--sections")
      settings.sections = true;
    else if (arg == "--errors")
      settings.errors = true;
    else if (arg.starts_with("--threads="))
      settings.threads = std::atoi(arg.c_str() + 10);
    else if (arg.starts_with("--schedule="))
      settings.schedule = arg.substr(11);
    else
      settings.shapes.push_back(arg);
  }
  if (settings.shapes.empty())
    for (const char *n : {"1", "16"})
      for (const char *rest :
           {",56,56,64,64", ",28,28,128,128", ",14,14,256,256", ",7,7,512,512"})
        settings.shapes.push_back(std::string(n) + rest);
  if (settings.errors)
    std::printf("%-18s %23s %23s %23s\n", "N,H,W,C,K", "direct: rms, largest",
                "F(2x2, 3x3)", "F(4x4, 3x3)");
  else
    std::printf("%-18s %20s %20s %20s %7s %7s %7s\n", "N,H,W,C,K",
                "direct, GFLOP/s", "F(2x2, 3x3)", "F(4x4, 3x3)", "d/2", "d/4",
                "2/4");
  for (const std::string &shape : settings.shapes)
    measure(shape, settings);
  return 0;
}
