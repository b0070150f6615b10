//===- Tenon_test.cpp - the command, end to end ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs the binary as a user does: every subcommand on the examples.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/OpTable.h"
#include "tools/tenon/TestSupport.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace tenon::test {
namespace {

//===----------------------------------------------------------------------===//
// run
//===----------------------------------------------------------------------===//

TEST(Run, ExamplesPassTheCheck) {
  for (const char *model :
       {kMlp, "examples/alexnet_block/alexnet_block.json",
        "examples/bert_layer/bert_layer.json",
        "examples/depthwise_separable/depthwise_separable.json",
        "examples/resnet50_bottleneck/resnet50_bottleneck.json"}) {
    Result result = tenon(std::string("run --repeat=1 --mb=1 ") + model);
    EXPECT_RESULT(result, 0, "check: ") << model;
    EXPECT_FALSE(result.has("not possible")) << result.out;
  }
}

TEST(Run, UnknownDimsAreCompiledOnce) {
  Result result = tenon(std::string("run --repeat=1 --mb=1,7,64 ") + kDynamic);
  EXPECT_RESULT(result, 0, "3 runs, compiled 1 time\n");
  for (const char *type : {": 1x128xf32", ": 7x128xf32", ": 64x128xf32"})
    EXPECT_TRUE(result.has(type)) << result.out;
  result = tenon(std::string("run --repeat=1 --mb=1,2 ") + kMlp);
  EXPECT_RESULT(result, 0, "2 runs, compiled 2 times\n");
  result = tenon(std::string("run ") + kDynamic);
  EXPECT_RESULT(result, 1, "E1211: input 0 (fc1.src) is ?x13xf32");
}

TEST(Run, InputsAndOutputsAreFiles) {
  std::string file = scratch("y.npy");
  std::string run = std::string("run --repeat=1 ") + kMlp;
  Result result = tenon(run + " --input fc1.src=iota --output 12=@" + file);
  EXPECT_RESULT(result, 0, "wrote");
  EXPECT_EQ(contentOf(file).substr(1, 5), "NUMPY");
  std::string same = " --expect fc3.relu=@" + file;
  EXPECT_RESULT(tenon(run + " --input 0=64x13xf32=iota" + same), 0,
                "expected: as in");
  EXPECT_RESULT(tenon(run + " --input 0=ones" + same), 3, "E3001");
  EXPECT_RESULT(tenon(run + " --input 0=@" + file), 1, "E1008");
  EXPECT_RESULT(tenon(run + " --expect fc3.relu=@" + scratch("none.npy")), 1,
                "E1001");
  EXPECT_RESULT(tenon(std::string("run --repeat=1 ") + kDynamic +
                      " --input 0=5x13xf32=ones"),
                0, ": 5x128xf32");
}

TEST(Run, InputsThatNothingReadsAreIgnored) {
  std::string text = chainOf({"ReLU"});
  text.insert(1, R"("input_ports": [77, 0], )");
  std::string model = inScratch("ports.json", text);
  Result result = tenon("run --input 77=ones --input 0=ones --expect 1=@" +
                        scratch("ones.npy") + " --output 1=@" +
                        scratch("ones.npy") + " " + model);
  EXPECT_RESULT(result, 0, "remark: input_ports names tensor 77");
  EXPECT_RESULT(tenon("check " + model), 0, "1 passed");
  EXPECT_RESULT(tenon("inspect --fusion " + model), 0,
                "note: input_ports names tensor 77");
  std::string code = scratch("ports.so");
  EXPECT_RESULT(tenon("compile --name m -o " + code + " --header=" + code +
                      ".h " + model),
                0, "remark: ");
  EXPECT_EQ(contentOf(code + ".h").find("77"), std::string::npos);
  EXPECT_RESULT(tenon("run --input 77=4x4xf32=ones " + code), 0,
                "check: passed");
  EXPECT_RESULT(tenon("run --input 78=ones " + model), 1, "E1107");
  std::string outputs = chainOf({"ReLU"});
  outputs.insert(1, R"("output_ports": [1, 9], )");
  EXPECT_RESULT(tenon("run " + inScratch("outputs.json", outputs)), 1,
                "E1106: ");
}

TEST(Run, ThreadsAndPool) {
  EXPECT_RESULT(tenon(std::string("run --repeat=1 --threads=2 --pool ") + kMlp),
                0, "2 threads of the caller's pool");
}

//===----------------------------------------------------------------------===//
// check
//===----------------------------------------------------------------------===//

TEST(Check, Configurations) {
  Result result = tenon(std::string("check --schedules=avx2,generic "
                                    "--threads-list=1,2 --pools=own,caller "
                                    "--mb=3 ") +
                        kMlp);
  EXPECT_RESULT(result, 0, "1 run in 8 configurations each");
  EXPECT_RESULT(result, 0, "1 passed, 0 failed, 0 unsupported");
  EXPECT_RESULT(tenon(std::string("check --mb=1,5 ") + kDynamic), 0,
                "2 passed, 0 failed, 0 unsupported");
}

TEST(Check, ListsOfRuns) {
  std::string list = scratch("runs.txt");
  writeTo(list, "# a comment\n\n--mb=2 --case=mlp.json\r\n--case=mlp.json\n");
  std::string check = "check --cases=examples/mlp --runs " + list;
  EXPECT_RESULT(tenon(check + " --jobs=2"), 0,
                "2 passed, 0 failed, 0 unsupported");
  EXPECT_RESULT(tenon(check + " --filter=--mb=2"), 0, "1 passed, 0 failed");

  // One bad line spoils nothing.
  writeTo(list, "--mb=2 --case=mlp.json\n--bogus --case=mlp.json\n"
                "--case=missing.json\n--mb=x --case=mlp.json\n");
  Result result = tenon(check);
  EXPECT_RESULT(result, 1, "1 passed, 3 failed, 0 unsupported");
  EXPECT_RESULT(result, 1,
                "repeat: tenon check --cases=examples/mlp --case=missing.json");
}

TEST(Check, UnsupportedIsGrouped) {
  std::string model = scratch("wildcard.json");
  writeTo(model, chainOf({"Wildcard"}));
  Result result = tenon("check " + model);
  EXPECT_RESULT(result, 2, "0 passed, 0 failed, 1 unsupported");
  EXPECT_RESULT(result, 2, "E2001 Wildcard: 1 run");
  EXPECT_RESULT(tenon("run " + model), 2, "Wildcard \"op0\"");
  writeTo(model, chainOf({"Wildcard", "ReLU", "Wildcard"}));
  EXPECT_RESULT(tenon("inspect " + model), 2,
                "does not compile: Wildcard \"op0\" and 1 other");
}

TEST(Check, TimeIsLimited) {
  Result result = tenon(std::string("check --timeout-per-run=0.0001 ") + kMlp);
  // Whoever notices first: the one that waits, or the one that evaluates.
  if (result.code != 2)
    EXPECT_RESULT(result, 4, "took longer than --timeout-per-run");
  else
    EXPECT_RESULT(result, 2, "reference takes longer than --timeout-per-run");
}

//===----------------------------------------------------------------------===//
// The others
//===----------------------------------------------------------------------===//

TEST(Bench, Formats) {
  std::string bench = std::string("bench --min-time=0 --max-runs=5 ") + kMlp;
  EXPECT_RESULT(tenon(bench), 0, "measured FMA peak");
  EXPECT_RESULT(tenon(bench + " --warm --format=csv"), 0, "model,threads");
  Result result = tenon(bench + " --format=json --compile-repeat=2");
  auto json = nlohmann::json::parse(result.out, nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << result.out << result.err;
  ASSERT_EQ(json["partitions"].size(), 1u);
  const auto &whole = json["partitions"][0];
  EXPECT_EQ(whole["runs"], 5);
  EXPECT_GT(whole["seconds"]["median"], 0);
  EXPECT_GT(whole["compileSeconds"], 0);
  EXPECT_GT(json["peakGbPerSecond"]["L1"]["read"], 0);
}

/// Of the only partition, by name.
nlohmann::json groupNamed(const nlohmann::json &bench,
                          const std::string &name) {
  for (const auto &group : bench["partitions"][0]["groups"])
    if (group["name"] == name)
      return group;
  ADD_FAILURE() << "no group " << name << " in " << bench.dump(2);
  return {};
}

TEST(Run, CountsAgreeWithTheirNouns) {
  std::string one = inScratch("one.json", chainOf({"ReLU"}));
  std::string two = inScratch("two.json", chainOf({"ReLU", "Exp"}));
  Result result = tenon("run --repeat=1 " + one);
  EXPECT_RESULT(result, 0, "compiled 1 operation to 1 group in ");
  EXPECT_RESULT(result, 0, " of 1 run, 1 thread\n");
  result = tenon("run --repeat=2 --threads=2 " + two);
  EXPECT_RESULT(result, 0, "compiled 2 operations to 1 group in ");
  EXPECT_RESULT(result, 0, " of 2 runs, 2 threads\n");
}

TEST(Bench, GroupsAgainstPeaksAndUnfused) {
  std::string bench =
      std::string("bench --warm --min-time=0 --max-runs=5 ") + kMlp;
  Result table = tenon(bench);
  EXPECT_RESULT(table, 0, "slower    ");
  EXPECT_RESULT(table, 0, "fc2+fc2.relu (contraction)");
  auto json = nlohmann::json::parse(tenon(bench + " --format=json").out,
                                    nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json["partitions"][0]["groups"].size(), 3u);
  const auto &whole = json["partitions"][0];
  EXPECT_GE(whole["betweenSeconds"], 0);
  EXPECT_LT(whole["betweenSeconds"].get<double>(),
            whole["profiledSeconds"].get<double>());
  auto group = groupNamed(json, "fc2+fc2.relu");
  // The product, the bias, the ReLU of 64x512 by 512x256.
  EXPECT_EQ(group["flops"], 2 * 64 * 512 * 256 + 2 * 64 * 256);
  EXPECT_GE(group["bytes"], 4 * (64 * 512 + 512 * 256 + 256 + 64 * 256));
  EXPECT_NEAR(group["gflops"].get<double>() * 1e9 *
                  group["seconds"].get<double>(),
              group["flops"].get<double>(), 1);
  EXPECT_GT(group["peakPercent"], 0);
  EXPECT_GT(group["unfusedSeconds"], 0);
  double ratio = group["ratio"];
  EXPECT_NEAR(ratio,
              group["unfusedSeconds"].get<double>() /
                  group["togetherSeconds"].get<double>(),
              1e-9);
  EXPECT_TRUE(ratio < 0.97 || !group["slowerThanUnfused"]);
  // Lines of the CSV have as many fields as its head.
  Result csv = tenon(bench + " --format=csv");
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 5);
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), ','), 5 * 15);
  for (const char *off : {" --no-unfused", " --fuse=false"}) {
    Result alone = tenon(bench + " --format=json" + off);
    EXPECT_RESULT(alone, 0, "\"unfusedSeconds\": null") << off;
  }
  EXPECT_RESULT(
      tenon(std::string("bench --warm --min-time=0 --max-runs=2 --mb=4 "
                        "--format=json ") +
            kDynamic),
      0, "\"flops\": null");
}

TEST(Bench, PartitionsOneByOne) {
  std::string model = scratch("partitions.json");
  writeTo(model, chainOf({"ReLU", "Tanh", "Wildcard", "Exp"}));
  std::string bench = "bench --min-time=0 --max-runs=3 " + model;
  Result table = tenon(bench);
  EXPECT_RESULT(table, 0, "partition 0 of 3: 2 operations");
  EXPECT_RESULT(table, 0, "skipped   Wildcard");
  auto json = nlohmann::json::parse(tenon(bench + " --format=json").out,
                                    nullptr, false);
  ASSERT_EQ(json["partitions"].size(), 3u) << json.dump(2);
  EXPECT_EQ(json["partitions"][0]["groups"][0]["name"], "op0+op1");
  EXPECT_EQ(json["partitions"][0]["groups"][0]["flops"], 2 * 64);
  EXPECT_TRUE(json["partitions"][1].contains("notCompiled"));
  EXPECT_EQ(json["partitions"][2]["groups"][0]["name"], "op3");
  writeTo(model, chainOf({"Wildcard"}));
  EXPECT_RESULT(tenon(bench), 2, "E2001");
}

TEST(Inspect, Views) {
  std::string inspect = std::string("inspect ") + kMlp;
  EXPECT_RESULT(tenon(inspect), 0, "operations      6");
  EXPECT_RESULT(tenon(inspect + " --graph"), 0, "MatMul \"fc1\" (0, 1, 2)");
  EXPECT_RESULT(tenon(inspect + " --graph=dot"), 0, "subgraph cluster_0");
  EXPECT_RESULT(tenon(inspect + " --graph=svg", "PATH=/nonexistent"), 1,
                "install the package graphviz");
  EXPECT_RESULT(tenon(inspect + " --fusion"), 0, "group 0: fc1");
  EXPECT_RESULT(tenon(inspect + " --memory"), 0, "without sharing");
  EXPECT_RESULT(tenon(inspect + " --memory"), 0,
                "0-1                0       131072  fc1+fc1.relu: 64x512xf32");
  Result plan = tenon(inspect + " --memory=svg");
  EXPECT_RESULT(plan, 0, "peak: 196608 bytes, sum of all buffers: 196608");
  EXPECT_EQ(plan.out.substr(0, 4), "<svg");
  EXPECT_RESULT(tenon(std::string("inspect --memory=svg ") + kDynamic), 1,
                "sizes that are not known");
  EXPECT_RESULT(tenon(inspect + " --asm"), 0, "ret");
  EXPECT_RESULT(tenon(inspect + " --asm=nowhere"), 1, "E1007: --asm");
  Result report = tenon(inspect + " --report");
  EXPECT_FALSE(nlohmann::json::parse(report.out, nullptr, false).is_discarded())
      << report.out;
}

TEST(Inspect, Phases) {
  std::string inspect = std::string("inspect ") + kMlp;
  Result graph = tenon(inspect + " --phase=graph");
  EXPECT_RESULT(graph, 0, "graph.");
  std::string file = scratch("graph.mlir");
  writeTo(file, graph.out);
  EXPECT_RESULT(
      tenon("inspect " + file + " --compile-from=graph --compile-to=tile"), 0,
      "func.func");
  std::string folder = scratch("phases");
  EXPECT_RESULT(tenon("inspect --dump-phases=" + folder + " " + kMlp), 0, "");
  EXPECT_EQ(std::system(("ls " + folder + "/*llvm* >/dev/null").c_str()), 0);
  EXPECT_RESULT(tenon(inspect + " --phase=nonsense"), 1, "phases: import");
  EXPECT_RESULT(tenon(inspect + " --compile-from=graph --stats"), 1, "E1007");
}

TEST(Inspect, FlagsOfMlir) {
  Result r = tenon(std::string("inspect --phase=fuse --mlir-timing "
                               "--mlir-print-ir-after=tenon-form-groups ") +
                   kMlp);
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.err.find("IR Dump After FormGroups"), std::string::npos);
  EXPECT_NE(r.err.find("Execution time report"), std::string::npos);
  r = tenon(std::string("inspect --mlir-nothing ") + kMlp);
  EXPECT_EQ(r.code, 1);
  EXPECT_TRUE(r.has("E1") && r.has("--mlir-nothing")) << r.err;
}

TEST(Explain, NamesGroups) {
  EXPECT_RESULT(tenon(std::string("explain --op=fc1 ") + kMlp), 0,
                "MatMul \"fc1\": in group 0");
  EXPECT_RESULT(tenon(std::string("explain --op=fc9 ") + kMlp), 1,
                "did you mean fc1");
}

TEST(Explain, Layouts) {
  using nlohmann::json;
  auto tensor = [](int id, std::vector<int> shape, const char *property) {
    return json{{"id", id},
                {"dtype", "f32"},
                {"shape", shape},
                {"layout_type", "strided"},
                {"property_type", property}};
  };
  auto image = [&](int id) { return tensor(id, {1, 8, 9, 7}, "variable"); };
  auto attr = [](const char *type, json value) {
    return json{{"type", type}, {"value", value}};
  };
  json ones = attr("s64[]", {1, 1});
  auto convolution = [&](const char *name, int src, int weights, int dst) {
    return json{
        {"id", dst},
        {"name", name},
        {"kind", "Convolution"},
        {"attrs",
         {{"strides", ones},
          {"pads_begin", ones},
          {"pads_end", ones},
          {"dilations", ones},
          {"data_format", attr("string", "NCX")},
          {"weights_format", attr("string", "OIX")}}},
        {"inputs", {image(src), tensor(weights, {8, 8, 3, 3}, "constant")}},
        {"outputs", json::array({image(dst)})}};
  };
  json relu = {{"id", 9},
               {"name", "act"},
               {"kind", "ReLU"},
               {"attrs", json::object()},
               {"inputs", json::array({image(2)})},
               {"outputs", json::array({image(3)})}};
  std::string model = scratch("channels_first.json");
  writeTo(model, json{{"version", "3.14.0"},
                      {"graph", json::array({convolution("c1", 0, 1, 2), relu,
                                             convolution("c2", 3, 4, 5)})}}
                     .dump());
  // 1x8x9x7 of f32: read across and unfused on one side, copied on the other.
  EXPECT_RESULT(tenon("explain " + model + " --op=act"), 0,
                "layout: channels last, not as the graph has them: what lies "
                "across takes as long as 0 bytes in rows, with channels first "
                "24192");
}

TEST(Explain, OperationsAndEdges) {
  std::string explain = std::string("explain ") + kMlp;
  Result op = tenon(explain + " --op=fc2");
  EXPECT_RESULT(op, 0, "fc1.relu -> fc2: memory: ");
  EXPECT_RESULT(op, 0, "131072 bytes are written and read again");
  EXPECT_RESULT(op, 0,
                "why: it starts a group of its own, of kind contraction");
  EXPECT_RESULT(op, 0, "order: packed in panels, 512x256xf32 -> ");
  EXPECT_RESULT(op, 0, ": 524288 bytes read, ");
  EXPECT_RESULT(op, 0, "once, when constants are bound");
  EXPECT_RESULT(tenon(explain), 0,
                "order, once, when constants are bound: 3 copies, ");
  EXPECT_RESULT(tenon(explain + " '--edge=fc1->fc1.relu'"), 0,
                "fc1 -> fc1.relu: fused: both are in group 0");
  EXPECT_RESULT(tenon(explain + " '--edge=0->fc1'"), 0,
                "3328 bytes of an input");
  EXPECT_RESULT(tenon(explain + " '--edge=fc3.relu->12'"), 0,
                "32768 bytes are written to an output");
  EXPECT_RESULT(tenon(explain + " --fuse=false '--edge=fc1->fc1.relu'"), 0,
                "why: fusion is off");
  EXPECT_RESULT(tenon(explain + " '--edge=fc1->fc3'"), 1,
                "reads nothing that \"fc1\" makes");
  EXPECT_RESULT(tenon(explain + " '--edge=fc1->fc9'"), 1, "did you mean fc1");
  EXPECT_RESULT(tenon(explain + " --edge=fc1"), 1, "has no ->");
  auto json = nlohmann::json::parse(tenon("explain --mb=1 --format=json "
                                          "examples/bert_layer/bert_layer.json")
                                        .out,
                                    nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_GT(json["edges"].size(), json["operations"].size());
  size_t views = 0, fused = 0, attention = 0;
  for (const auto &edge : json["edges"]) {
    views += edge["verdict"] == "view";
    fused += edge["verdict"] == "fused";
    EXPECT_NE(edge["verdict"], "none") << edge.dump(2);
    EXPECT_FALSE(edge["verdict"] == "memory" && edge["reasons"].empty())
        << edge.dump(2);
  }
  for (const auto &answer : json["operations"]) {
    EXPECT_NE(answer["verdict"], "none") << answer.dump(2);
    for (const auto &group : answer["groups"])
      attention += json["groups"][group.get<size_t>()]["kind"] == "attention";
  }
  EXPECT_GT(views, 0u);
  EXPECT_GT(fused, 0u);
  // Heads are split and joined by transposes that attention reads through.
  size_t saved = 0;
  for (const auto &edge : json["edges"])
    for (const auto &order : edge["reorders"]) {
      EXPECT_GT(order["read"], 0) << order.dump(2);
      EXPECT_GT(order["seconds"], 0) << order.dump(2);
      saved += order["when"] == "never";
    }
  EXPECT_GT(saved, 0u);
  EXPECT_GT(json["order"]["never"]["count"], 0);
  EXPECT_GT(json["order"]["bind"]["seconds"], 0);
  // Two products, scale, mask and softmax.
  EXPECT_EQ(attention, 5u);
}

TEST(Ops, TableAndOne) {
  std::string count = std::to_string(graph::allOps().size());
  EXPECT_RESULT(tenon("ops"), 0, count + " operations");
  EXPECT_RESULT(tenon("ops matmul"), 0, "transpose_a");
  EXPECT_RESULT(tenon("ops MatMull"), 1, "did you mean MatMul");
  EXPECT_RESULT(tenon("ops matmul --example"), 0, "Op op(0, tenon_op_matmul)");
  EXPECT_RESULT(tenon("ops --example"), 1, "kind");
  EXPECT_RESULT(tenon("ops Wildcard --example"), 2, "does not compile");
  auto json =
      nlohmann::json::parse(tenon("ops --format=json").out, nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json.size(), graph::allOps().size());
}

TEST(DevInfo, Facts) {
  EXPECT_RESULT(tenon("devinfo --no-measure"), 0, "cpu:");
  auto json = nlohmann::json::parse(tenon("devinfo --quick --format=json").out,
                                    nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_GE(json["allowedCpus"], 1);
}

} // namespace
} // namespace tenon::test
