//===- Tenon.cpp - the command line tool ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Exit codes: 0 good, 1 the user has to act, 2 not supported, 3 results differ,
// 4 our own fault.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/Version.h"
#include "dialects/support/Text.h"
#include "tools/tenon/Cli.h"
#include "tools/tenon/MlirFlags.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

namespace {

using namespace tenon;

/// The subcommand that was being parsed, or the program.
const CLI::App &chosen(const CLI::App &app) {
  std::vector<CLI::App *> parsed = app.get_subcommands();
  return parsed.empty() ? app : *parsed.front();
}

/// What may stand at the place of `word`.
std::string suggestion(const CLI::App &app, const std::string &word) {
  std::vector<std::string> known;
  if (word.rfind("-", 0) == 0)
    for (const CLI::Option *option : app.get_options())
      for (const std::string &name : option->get_lnames())
        known.push_back("--" + name);
  else
    for (const CLI::App *sub : app.get_subcommands(nullptr))
      known.push_back(sub->get_name());
  std::string near = closest(word.substr(0, word.find('=')), known);
  if (!near.empty())
    return "did you mean " + near;
  std::string all;
  for (const std::string &name : known)
    all += (all.empty() ? "allowed: " : ", ") + name;
  return all;
}

/// Whether `word` is the name of a file that commands take.
bool isModel(const std::string &word) {
  return word.ends_with(".onnx") || word.ends_with(".json") ||
         word.ends_with(".mlir") || word.ends_with(".so");
}

bool hasCommand(const CLI::App &app, const std::string &name) {
  for (const CLI::App *sub : app.get_subcommands(nullptr))
    if (sub->get_name() == name)
      return true;
  return false;
}

int parseFailed(const CLI::App &app, const CLI::ParseError &error) {
  if (error.get_exit_code() == 0)
    return app.exit(error); // --help, --version
  const CLI::App &command = chosen(app);
  std::string hint = "tenon ";
  if (&command != &app)
    hint += command.get_name() + " ";
  hint += "--help lists what is allowed";
  std::string message = error.what();
  if (dynamic_cast<const CLI::ExtrasError *>(&error)) {
    std::vector<std::string> extras = command.remaining();
    if (extras.empty())
      extras = app.remaining(true);
    if (!extras.empty()) {
      message = "\"" + extras.front() + "\" is not expected here";
      hint = suggestion(command, extras.front());
    }
  }
  return cli::fail(cli::badOption(std::move(message), std::move(hint)));
}

int runTool(int argc, char **argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  cli::MlirFlags mlirFlags;
  if (auto ok = mlirFlags.take(arguments); !ok)
    return cli::fail(ok.errors());
  CLI::App app("Tenon: compiles deep-learning graphs for CPUs");
  app.name("tenon");
  app.set_version_flag("--version", "tenon " + compilerVersion(),
                       "version and build, and exit");
  app.require_subcommand(1);
  app.footer("MLIR's own flags work with every command that compiles, for "
             "example\n--mlir-timing, --mlir-print-ir-after-all, "
             "--mlir-pass-pipeline-crash-reproducer=FILE;\ntenon-opt --help "
             "lists them.");
  cli::Action action;
  cli::addRunCommand(app, action);
  cli::addCompileCommand(app, action);
  cli::addCheckCommand(app, action);
  cli::addBenchCommand(app, action);
  cli::addInspectCommand(app, action);
  cli::addExplainCommand(app, action);
  cli::addOpsCommand(app, action);
  cli::addDevInfoCommand(app, action);
  if (!arguments.empty() && arguments[0].rfind("-", 0) != 0 &&
      !hasCommand(app, arguments[0]))
    return cli::fail(
        cli::badOption("there is no command \"" + arguments[0] + "\"",
                       isModel(arguments[0]) ? "tenon run " + arguments[0]
                                             : suggestion(app, arguments[0])));
  try {
    std::reverse(arguments.begin(), arguments.end()); // as CLI11 wants them
    app.parse(arguments);
  } catch (const CLI::ParseError &error) {
    return parseFailed(app, error);
  }
  int code = action ? action() : 0;
  // A full disk or closed pipe must not look like success.
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    Error error;
    error.code = ErrorCode::CannotWrite;
    error.message = "standard output";
    return std::max(code, cli::fail(error));
  }
  return code;
}

} // namespace

int main(int argc, char **argv) {
  // A limit of the size of files is an error of the write, told as such.
  std::signal(SIGXFSZ, SIG_IGN);
  Error error;
  try {
    return runTool(argc, argv);
  } catch (const std::bad_alloc &) {
    error.code = ErrorCode::OutOfMemory;
  } catch (const std::exception &exception) {
    error.message = exception.what();
  }
  return cli::fail(error);
}
