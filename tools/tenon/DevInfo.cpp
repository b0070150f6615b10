//===- DevInfo.cpp - tenon devinfo ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "tools/devinfo/DevInfo.h"

#include "tools/tenon/Cli.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <sstream>

namespace tenon::cli {

namespace {

struct DevInfoArgs {
  bool quick = false;
  bool measure = true;
  std::string format;
};

int showDevice(const DevInfoArgs &args) {
  devinfo::DevInfo info = args.measure ? devinfo::measureMachine(args.quick)
                                       : devinfo::describeMachine();
  std::ostringstream text;
  if (args.format == "json")
    text << info.toJson() << "\n";
  else
    info.printText(text);
  std::fputs(text.str().c_str(), stdout);
  return 0;
}

} // namespace

void addDevInfoCommand(CLI::App &app, Action &action) {
  auto args = std::make_shared<DevInfoArgs>();
  CLI::App *sub = app.add_subcommand(
      "devinfo", "this machine: instructions, caches, measured peaks");
  sub->add_flag("--quick", args->quick, "measure less precisely");
  sub->add_flag("!--no-measure", args->measure, "only what the CPU reports");
  addFormatOption(*sub, args->format, {"text", "json"});
  sub->callback(
      [args, &action] { action = [args] { return showDevice(*args); }; });
}

} // namespace tenon::cli
