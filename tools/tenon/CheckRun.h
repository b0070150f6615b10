//===- CheckRun.h - one run of tenon check ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A run is a model with changes; a configuration says how it is compiled and
// executed.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/driver/Options.h"
#include "compiler/import/Load.h"
#include "compiler/import/Overrides.h"
#include "tools/tenon/Children.h"
#include "tools/tenon/Tensors.h"

#include <map>
#include <string>
#include <vector>

namespace tenon::cli {

struct Configuration {
  std::string schedule;
  int threads = 1;
  bool callerPool = false;

  /// " --schedules=avx2 --threads-list=2 --pools=own"
  std::string flags() const;
};

/// The same for lists; empty ones are left out.
std::string allFlags(const std::string &schedules, const std::string &threads,
                     const std::string &pools);
/// " --flag=value"
std::string optionText(const char *flag, const std::string &value);
std::string optionText(const char *flag, int64_t value);
std::string optionText(const char *flag, bool value);

struct CheckRun {
  std::string path;     // of the model, or where the run was written
  std::string caseFile; // as in the list; empty for a model
  OverrideText overrides;
  std::vector<Error> broken; // why there is no run
};

struct CheckSettings {
  Options options;
  LoadOptions loading;
  uint64_t seed = 1;
  std::vector<TensorSpec> inputs; // filled from seed are those not named
  int evalThreads = 1;
  double memory = 0; // bytes the reference may take
};

struct CheckOutcome {
  enum Verdict { passed, failed, unsupported } verdict = passed;
  /// What happened first, one line; of a failure.
  std::string message;
  /// Flags of the configuration that failed.
  std::string config;
  int exitCode = 0;
  /// Why it is unsupported: "E2001 LSTM" and one whole message for each.
  std::map<std::string, std::string> reasons;
};

/// What checkRun notes before the reference is evaluated.
inline constexpr char kEvaluatingNote[] = "evaluating the reference";

/// Loads, evaluates, compiles, executes, compares.  Exhausted memory becomes
/// an unsupported outcome.  `note` hears of every step.
CheckOutcome checkRun(const CheckRun &run,
                      const std::vector<Configuration> &configurations,
                      const CheckSettings &settings, const Note &note);

/// An outcome as text and back; text that is none gives a failure.
std::string formatOutcome(const CheckOutcome &outcome);
CheckOutcome parseOutcome(const std::string &text);

} // namespace tenon::cli
