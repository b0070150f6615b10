//===- Mistakes_test.cpp - what users of the command get wrong ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Arguments, files, targets and disks: an error with a code, and nothing
// written by half.
//
//===----------------------------------------------------------------------===//
#include "tools/tenon/TestSupport.h"

#include <filesystem>
#include <regex>

namespace tenon::test {
namespace {

TEST(Mistakes, CodesAndHints) {
  struct Case {
    const char *arguments;
    const char *text;
  };
  for (const Case &c : std::vector<Case>{
           {"", "E1007"},
           {"rum x", "E1007: there is no command \"rum\"; hint: did you mean "
                     "run"},
           {"run", "model is required"},
           {"run missing.json", "E1001: missing.json"},
           {"run --bogus x.json", "E1007: \"--bogus\" is not expected"},
           {"run --tread=2 x.json", "did you mean --threads"},
           {"run --threads=0 examples/mlp/mlp.json", "--threads"},
           {"run --threads=two examples/mlp/mlp.json", "--threads"},
           {"run --mb=-3 examples/mlp/mlp.json", "E1301"},
           {"run --schedule=mmx examples/mlp/mlp.json", "E1007"},
           {"run --input=nobody=ones examples/mlp/mlp.json", "E1107"},
           {"run --input=0=many examples/mlp/mlp.json", "E1007"},
           {"run --input=0=4xbf16=ones examples/mlp/mlp.json", "E1007"},
           {"run --output=0=@x.npy --repeat=1 examples/mlp/mlp.json",
            "no output of the graph"},
           {"check", "E1007: what to check is not clear"},
           {"check --schedules=sse --pools=mine examples/mlp/mlp.json",
            "allowed: auto, avx512, avx2, generic"},
           {"check --runs missing.txt", "E1001"},
           {"check --input=0=many examples/mlp/mlp.json", "E1007"},
           {"check --input=0=ones --runs missing.txt", "leave out --input"},
           {"run --input=12=ones examples/mlp/mlp.json",
            "no input of the graph"},
           {"bench --format=xml examples/mlp/mlp.json", "E1007: --format"},
           {"bench examples/mlp/mlp_dynamic.json", "E1211"},
           {"ops --format=xml", "E1007"}}) {
    Result result = tenon(c.arguments);
    EXPECT_EQ(result.code, 1) << c.arguments;
    EXPECT_NE(result.err.find(c.text), std::string::npos) << c.arguments << "\n"
                                                          << result.err;
  }
}

TEST(Mistakes, UnknownKindsOfOperations) {
  std::string path = inScratch("softmx.json", chainOf({"ReLU", "Softmx"}));
  for (const std::string command : {"run", "bench", "check", "inspect --stats",
                                    "explain", "compile -o x.o"})
    EXPECT_RESULT(tenon(command + " " + path), 1,
                  "E1101 Softmx \"op1\" (id 1): " + path +
                      ": \"Softmx\" is no operation kind; hint: did you mean "
                      "SoftMax")
        << command;
  EXPECT_RESULT(tenon("run --op-kind=1:Softmx " + path), 1,
                "hint: did you mean SoftMax");
  EXPECT_RESULT(tenon("run --op-kind=1:Frobnicate " + path), 1,
                "hint: `tenon ops` lists them");
}

TEST(Mistakes, PathsSayWhatTheyAre) {
  struct Case {
    std::string arguments, text;
  };
  std::string notCode = inScratch("not_code.so", "text");
  for (const std::string command :
       {"run", "bench", "check", "inspect", "explain", "compile -o x.o"})
    for (const Case &c : std::vector<Case>{
             {"missing.so", "E1001: missing.so: No such file or directory"},
             {"missing.json", "missing.json: No such file or directory"},
             {"missing", "missing: No such file or directory"},
             {"missing.mlir", "missing.mlir: No such file or directory"},
             {"examples/mlp", "examples/mlp: is a directory"},
             {"examples/mlp/mlp.json/x", "Not a directory"}}) {
      Result result = tenon(command + " " + c.arguments);
      EXPECT_RESULT(result, 1, c.text) << command << " " << c.arguments;
    }
  EXPECT_RESULT(tenon("run " + notCode), 1,
                "E1501: " + notCode + ": this was not written by tenon");
  EXPECT_RESULT(tenon("explain " + notCode), 1,
                notCode + ": is a compiled file, not a graph");
  EXPECT_RESULT(tenon("run " + inScratch("x.txt", "text")), 1,
                "unknown kind of model file \".txt\"");
  std::string run = std::string("run ") + kMlp;
  EXPECT_RESULT(tenon(run + " --input 0=@examples"), 1,
                "examples: is a directory");
  EXPECT_RESULT(tenon(run + " --output 12=@none/x.npy"), 1,
                "E1006: none/x.npy: No such file or directory");
  EXPECT_RESULT(tenon("check --runs missing.txt"), 1,
                "missing.txt: No such file");
  EXPECT_RESULT(
      tenon(std::string("compile -o x.o --constants=missing ") + kMlp), 1,
      "E1001: missing: No such file");
}

TEST(Mistakes, WeightsAreNamed) {
  std::string code = scratch("weights.so"), weights = scratch("weights.bin");
  ASSERT_EQ(tenon(std::string("compile --name m --fill-constants -o ") + code +
                  " --weights=" + weights + " " + kMlp)
                .code,
            0);
  std::string run = "run --repeat=1 " + code;
  EXPECT_RESULT(tenon(run + " --weights=" + weights), 0, "check: passed");
  EXPECT_RESULT(tenon(run), 1, "E1001: " + code);
  EXPECT_RESULT(tenon(run), 1, "--weights names the file");
  EXPECT_RESULT(tenon(run + " --weights=missing.bin"), 1,
                "E1001: missing.bin: No such file");
  EXPECT_RESULT(tenon(run + " --weights=examples"), 1, "E1001: examples: ");
  std::string bytes = contentOf(weights);
  std::string shorter = inScratch("short.bin", bytes.substr(1));
  EXPECT_RESULT(tenon(run + " --weights=" + shorter), 1,
                "E1503: " + shorter + ": is not the file of weights");
  EXPECT_RESULT(tenon(run + " --weights=" + shorter), 1,
                std::to_string(bytes.size() - 1) + " bytes, not " +
                    std::to_string(bytes.size()));
  bytes[100] = static_cast<char>(bytes[100] ^ 1);
  std::string changed = inScratch("changed.bin", bytes);
  EXPECT_RESULT(tenon(run + " --weights=" + changed), 1, "its content differs");
  Result lacking =
      tenon(run + " --weights=" + weights + " --without-features=sse2,avx2");
  EXPECT_RESULT(lacking, 2, "this machine lacks sse2");
  EXPECT_RESULT(tenon(run + " --without-features=nonsense"), 1,
                "E1007: there is no CPU feature 'nonsense'");
}

TEST(Mistakes, TargetsThereIsNoCodeFor) {
  EXPECT_RESULT(tenon(std::string("run --target-cpu=pentium4 ") + kMlp), 2,
                "E2004: the CPU 'pentium4' has no 64-bit mode");
  std::string compile = std::string("compile --name m -o ") + scratch("x.o") +
                        " " + kMlp + " --target-triple=";
  for (const char *triple : {"aarch64-apple-darwin", "x86_64-pc-windows-msvc",
                             "x86_64-linux-gnux32"})
    EXPECT_RESULT(tenon(compile + triple), 2, "E2004: no code for ") << triple;
  EXPECT_EQ(contentOf(scratch("x.o")), "");
}

/// Files of at most one block can be written.
Result tenonWithLittleDisk(const std::string &arguments) {
  return tenon(arguments, "ulimit -f 1;");
}

TEST(Mistakes, FullDisksLeaveNothingBehind) {
  std::string folder = scratch("full");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  std::string file = folder + "/x";
  std::string mlp = kMlp;
  writeTo(file + ".npy", "old");
  for (const std::string &arguments :
       {"inspect --dump-phases=" + folder + "/phases " + mlp,
        "inspect --report=" + file + ".json " + mlp,
        "compile -o " + file + ".o " + mlp,
        "compile --fill-constants -o " + file + ".so --header=" + file +
            ".h --weights=" + file + ".bin " + mlp,
        "run --no-check --output 12=@" + file + ".npy " + mlp}) {
    Result result = tenonWithLittleDisk(arguments);
    EXPECT_RESULT(result, 1, "E1006: ") << arguments;
    EXPECT_RESULT(result, 1, "File too large") << arguments;
  }
  EXPECT_EQ(contentOf(file + ".npy"), "old");
  for (const auto &left : std::filesystem::directory_iterator(folder))
    EXPECT_TRUE(left.path() == file + ".npy" ||
                left.path().filename() == "phases")
        << left.path();
  EXPECT_RESULT(tenon("inspect --report=/dev/full " + mlp), 1,
                "E1006: /dev/full: No space left on device");
  EXPECT_RESULT(tenon("inspect " + mlp + " >/dev/full"), 1,
                "E1006: standard output");
  EXPECT_RESULT(tenon("run --perf " + mlp, "JITDUMPDIR=/dev/null"), 1,
                "E1006: /dev/null/.debug/jit: ");
  EXPECT_RESULT(tenon("run --perf " + mlp,
                      "ulimit -f 1; JITDUMPDIR=" + folder + "/phases"),
                1, "E1006: ");
  // Temporary files.
  ASSERT_EQ(tenon("compile --fill-constants -o " + file + ".a " + mlp).code, 0);
  EXPECT_RESULT(tenonWithLittleDisk("run " + file + ".a"), 1, "E1006: ");
  EXPECT_RESULT(tenon("run " + file + ".a", "TMPDIR=/dev/null"), 1,
                "E1006: no new folder in /dev/null");
}

TEST(Mistakes, NumbersOutOfRange) {
  for (const char *value :
       {"-1", "nan", "inf", "-inf", "1e300", "1e7", "x", ""})
    for (const std::string option :
         {"bench --min-time", "check --timeout-per-run",
          "check --memory-limit"}) {
      Result result = tenon(option + "=" + value + " " + kMlp);
      EXPECT_RESULT(result, 1, "E1007: ") << option << "=" << value;
      EXPECT_LT(result.err.size(), 250u) << result.err;
    }
  for (const char *value :
       {"-1", "0", "1.5", "99999999999999999999", "1000000000", "nan"})
    for (const std::string option :
         {"bench --max-runs", "bench --compile-repeat", "run --threads",
          "run --repeat", "check --jobs", "check --eval-threads",
          "run --max-group-ops", "check --threads-list"}) {
      Result result = tenon(option + "=" + value + " " + kMlp);
      EXPECT_RESULT(result, 1, "E1007: ") << option << "=" << value;
      EXPECT_LT(result.err.size(), 250u) << result.err;
    }
  for (const char *value : {"-1", "1025", "99999999999999999999", "x"})
    EXPECT_RESULT(
        tenon(std::string("run --compile-threads=") + value + " " + kMlp), 1,
        "E1007: ");
  for (const char *value : {"-1", "1e3", "99999999999999999999"})
    EXPECT_RESULT(tenon(std::string("run --seed=") + value + " " + kMlp), 1,
                  "E1007: ");
}

TEST(Mistakes, EnvironmentMirrorsFlags) {
  EXPECT_RESULT(tenon(std::string("inspect ") + kMlp, "TENON_SCHEDULE=mmx"), 1,
                "E1007");
  EXPECT_RESULT(tenon(std::string("inspect --schedule=avx2 ") + kMlp,
                      "TENON_SCHEDULE=mmx"),
                0, "operations");
}

TEST(Mistakes, HelpIsNoMistake) {
  EXPECT_RESULT(tenon("--help"), 0, "inspect");
  EXPECT_RESULT(tenon("check --help"), 0, "TENON_TARGET_CPU");
  Result version = tenon("--version");
  EXPECT_EQ(version.code, 0);
  EXPECT_EQ(version.err, "");
  EXPECT_TRUE(std::regex_match(
      version.out, std::regex("tenon \\d+\\.\\d+\\.\\d+ \\(LLVM [^ ]+, build "
                              "[0-9a-f]{8,}\\)\n")))
      << version.out;
}

} // namespace
} // namespace tenon::test
