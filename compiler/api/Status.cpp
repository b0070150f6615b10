//===- Status.cpp - errors of the C interface -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/api/Api.h"
#include "compiler/driver/Version.h"

namespace tenon::api {

namespace {

/// The last error of a thread, and the strings it points to.
struct LastError {
  Error error;
  std::string text;
  tenon_error view = {TENON_SUCCESS, "", "", "", 0, "", ""};
};

thread_local LastError last;

} // namespace

tenon_status report(const std::vector<Error> &errors) {
  last.error = errors.front();
  last.text = str(errors);
  const Error &e = last.error;
  last.view = {static_cast<tenon_status>(e.code),
               e.message.empty() ? describe(e.code) : e.message.c_str(),
               e.opKind.c_str(),
               e.opName.c_str(),
               e.opId.value_or(0),
               e.hint.c_str(),
               last.text.c_str()};
  return last.view.status;
}

std::vector<Error> needed(std::initializer_list<Argument> arguments) {
  std::vector<Error> errors;
  for (const Argument &argument : arguments)
    if (!argument.value)
      errors.push_back(fail(ErrorCode::NullArgument,
                            std::string(argument.name) + " is NULL"));
  return errors;
}

} // namespace tenon::api

using namespace tenon;

const tenon_error *tenon_last_error() { return &api::last.view; }

const char *tenon_status_string(tenon_status status) {
  return status == TENON_SUCCESS ? "success"
                                 : describe(static_cast<ErrorCode>(status));
}

tenon_version tenon_get_version() {
  return {kVersionMajor, kVersionMinor, kVersionPatch,
          compilerVersion().c_str()};
}
