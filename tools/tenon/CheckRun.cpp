//===- CheckRun.cpp - one run of tenon check ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See CheckRun.h.
//
//===----------------------------------------------------------------------===//
#include "tools/tenon/CheckRun.h"

#include "compiler/driver/Denormals.h"
#include "compiler/driver/Phases.h"
#include "dialects/graph/OpTable.h"
#include "tools/tenon/Execution.h"
#include "tools/tenon/ModelArgs.h"

#include <algorithm>
#include <new>
#include <optional>

namespace tenon::cli {

std::string optionText(const char *flag, const std::string &value) {
  return " " + shellQuote("--" + std::string(flag) + "=" + value);
}
std::string optionText(const char *flag, int64_t value) {
  return optionText(flag, std::to_string(value));
}
std::string optionText(const char *flag, bool value) {
  return std::string(value ? " --" : " --no-") + flag;
}

std::string allFlags(const std::string &schedules, const std::string &threads,
                     const std::string &pools) {
  std::string text;
  if (!schedules.empty())
    text += optionText("schedules", schedules);
  if (!threads.empty())
    text += optionText("threads-list", threads);
  if (!pools.empty())
    text += optionText("pools", pools);
  return text;
}

std::string Configuration::flags() const {
  return allFlags(schedule, std::to_string(threads),
                  callerPool ? "caller" : "own");
}

namespace {

/// Where errors came from decides what they mean for the verdict.
enum class Stage { load, evaluate, compile, execute };

class Checker {
public:
  Checker(const CheckRun &run, const CheckSettings &settings, const Note &note)
      : run(run), settings(settings), note(note) {}

  CheckOutcome check(const std::vector<Configuration> &configurations);

private:
  /// Loads the graph and looks whether the reference is affordable.
  bool prepareRun();
  bool makeValues();
  bool evaluateReference();
  void checkConfiguration(const Configuration &configuration);
  void blame(Stage stage, const std::vector<Error> &errors);
  Compiled *compileFor(const std::string &schedule);

  const CheckRun &run;
  const CheckSettings &settings;
  const Note &note;
  CheckOutcome outcome;
  std::string flags;              // of the configuration at work
  std::vector<TensorSpec> inputs; // of those given, the ones that are read
  Prepared prepared;
  Constants constants;
  TensorMap values;
  std::optional<Oracle> oracle;
  // One at a time: configurations of one schedule follow each other.
  std::unique_ptr<Compiled> compiled;
  std::string compiledSchedule;
};

/// The kind of operation an error is about, else what its code means.
std::string subjectOf(const Error &error) {
  if (!error.opKind.empty())
    return error.opKind;
  // Errors from the compiler's passes name it first: `MatMul "fc": ...`.
  std::string word = error.message.substr(0, error.message.find_first_of(" :"));
  return graph::lookupOp(word) ? word : describe(error.code);
}

void Checker::blame(Stage stage, const std::vector<Error> &errors) {
  // What the evaluator cannot do is no fault of the compiler, and memory is
  // a matter of the machine.
  auto isUnsupported = [&](const Error &error) {
    return stage == Stage::evaluate || error.code == ErrorCode::OutOfMemory ||
           categoryOf(error.code) == ErrorCategory::unsupported;
  };
  if (std::all_of(errors.begin(), errors.end(), isUnsupported)) {
    for (const Error &error : errors) {
      std::string reason = "E" + std::to_string(static_cast<int>(error.code)) +
                           " " + subjectOf(error);
      if (stage == Stage::evaluate)
        reason += " (reference)";
      outcome.reasons.emplace(std::move(reason), error.str());
    }
    if (outcome.verdict == CheckOutcome::passed)
      outcome.verdict = CheckOutcome::unsupported;
    return;
  }
  if (outcome.verdict == CheckOutcome::failed)
    return;
  outcome.verdict = CheckOutcome::failed;
  outcome.message = str(errors);
  outcome.config = flags;
  outcome.exitCode = exitCodeOf(errors);
}

bool Checker::prepareRun() {
  if (!run.broken.empty()) {
    blame(Stage::load, run.broken);
    return false;
  }
  note("loading");
  auto model = readForUser(run.path, settings.loading);
  if (!model) {
    blame(Stage::load, model.errors());
    return false;
  }
  constants = std::move(model->constants);
  inputs = settings.inputs;
  dropIgnored(model->graph, model->unread, inputs);
  auto result = prepare(run.path, model->graph,
                        withoutShapesOf(model->unread, run.overrides), inputs);
  if (!result) {
    blame(Stage::load, result.errors());
    return false;
  }
  prepared = std::move(*result);
  if (auto unknown = unknownInputs(prepared.runGraph); !unknown.empty()) {
    blame(Stage::load, unknown);
    return false;
  }
  if (double bytes = oracleBytes(prepared.runGraph); bytes > settings.memory) {
    Error error;
    error.code = ErrorCode::TooLarge;
    error.message = "the reference may need " + bytesText(bytes) +
                    ", the limit is " + bytesText(settings.memory);
    error.hint = "--memory-limit";
    blame(Stage::evaluate, {error});
    return false;
  }
  return makeValues();
}

bool Checker::makeValues() {
  auto made = makeInputs(prepared.runGraph, settings.seed, inputs, constants);
  if (!made) {
    // What the graph wants cannot be filled in; what the user gives is wrong.
    blame(inputs.empty() ? Stage::evaluate : Stage::load, made.errors());
    return false;
  }
  values = std::move(*made);
  return true;
}

Compiled *Checker::compileFor(const std::string &schedule) {
  if (compiled && compiledSchedule == schedule)
    return compiled.get();
  compiled.reset();
  note("compiling," + flags);
  setPhaseListener([&](std::string_view phase) {
    note("compiling, phase " + std::string(phase) + "," + flags);
  });
  Options options =
      decideDenormals(settings.options, *prepared.compileGraph, constants);
  options.schedule = schedule;
  auto result = Compiled::compile(prepared.compileGraph, options);
  setPhaseListener({});
  if (!result) {
    blame(Stage::compile, result.errors());
    return nullptr;
  }
  compiled = std::move(*result);
  compiledSchedule = schedule;
  return compiled.get();
}

bool Checker::evaluateReference() {
  note(kEvaluatingNote);
  TensorMap all = values;
  if (auto errors = addValues(prepared.runGraph, constants, all);
      !errors.empty()) {
    blame(Stage::load, errors);
    return false;
  }
  auto created = Oracle::create(prepared.runGraph, std::move(all),
                                arithmeticOf(settings.options, *compiled),
                                settings.evalThreads);
  if (!created) {
    blame(Stage::evaluate, created.errors());
    return false;
  }
  oracle = std::move(*created);
  return true;
}

void Checker::checkConfiguration(const Configuration &configuration) {
  flags = configuration.flags();
  Compiled *code = compileFor(configuration.schedule);
  if (!code)
    return;
  // Not before something compiled: the reference takes most of the time.
  if (!oracle && !evaluateReference())
    return;
  auto execution =
      Execution::create(configuration.threads, configuration.callerPool);
  if (!execution)
    return blame(Stage::execute, execution.errors());
  auto buffers = Buffers::create(*code, prepared.runGraph, values, constants);
  if (!buffers)
    return blame(Stage::execute, buffers.errors());
  Executor &executor = *execution->executor;
  if (auto bound = bindConstants(*code, executor, *buffers); !bound)
    return blame(Stage::execute, bound.errors());
  // Twice: what the first execution leaves behind must not matter.
  for (int repeat = 0; repeat < 2; ++repeat) {
    note("executing," + flags);
    auto results = executeOnce(*code, executor, *buffers);
    if (!results)
      return blame(Stage::execute, results.errors());
    note("comparing");
    if (auto errors = oracle->check(*results); !errors.empty())
      return blame(Stage::execute, errors);
  }
}

CheckOutcome Checker::check(const std::vector<Configuration> &configurations) {
  if (!prepareRun())
    return std::move(outcome);
  for (const Configuration &configuration : configurations) {
    checkConfiguration(configuration);
    // Without a reference no other configuration can do better.
    if (compiled && !oracle)
      break;
  }
  return std::move(outcome);
}

/// One line, without the separators of formatOutcome.
std::string oneLine(std::string text) {
  for (size_t i = 0; i < text.size(); ++i)
    if (static_cast<unsigned char>(text[i]) < 0x20)
      text[i] = text[i] == '\n' ? ';' : ' ';
  constexpr size_t kLongest = 1000;
  return text.substr(0, kLongest);
}

} // namespace

CheckOutcome checkRun(const CheckRun &run,
                      const std::vector<Configuration> &configurations,
                      const CheckSettings &settings, const Note &note) {
  try {
    return Checker(run, settings, note).check(configurations);
  } catch (const std::bad_alloc &) {
    CheckOutcome outcome;
    outcome.verdict = CheckOutcome::unsupported;
    Error error;
    error.code = ErrorCode::OutOfMemory;
    error.hint = "--memory-limit";
    outcome.reasons.emplace("E4002 " + std::string(describe(error.code)),
                            error.str());
    return outcome;
  }
}

std::string formatOutcome(const CheckOutcome &outcome) {
  std::string text = std::to_string(outcome.verdict) + "\n" +
                     std::to_string(outcome.exitCode) + "\n" +
                     oneLine(outcome.message) + "\n" + oneLine(outcome.config) +
                     "\n";
  for (const auto &[reason, message] : outcome.reasons)
    text += oneLine(reason) + "\n" + oneLine(message) + "\n";
  return text;
}

CheckOutcome parseOutcome(const std::string &text) {
  std::vector<std::string> lines = splitText(text, '\n');
  CheckOutcome outcome;
  std::optional<int64_t> verdict, exitCode;
  if (lines.size() >= 4) {
    verdict = parseInteger(lines[0]);
    exitCode = parseInteger(lines[1]);
  }
  if (!verdict || !exitCode || *verdict < 0 ||
      *verdict > CheckOutcome::unsupported) {
    outcome.verdict = CheckOutcome::failed;
    outcome.exitCode = static_cast<int>(ErrorCategory::internal);
    outcome.message = "the process of the run ended without a result";
    return outcome;
  }
  outcome.verdict = static_cast<CheckOutcome::Verdict>(*verdict);
  outcome.exitCode = static_cast<int>(*exitCode);
  outcome.message = lines[2];
  outcome.config = lines[3];
  for (size_t i = 4; i + 1 < lines.size(); i += 2)
    outcome.reasons.emplace(lines[i], lines[i + 1]);
  return outcome;
}

} // namespace tenon::cli
