//===- WriteFile_test.cpp - files, whole or not at all --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/support/WriteFile.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace tenon;

namespace {

namespace fs = std::filesystem;

std::string contentOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A folder of the test's own.
class WriteFile : public testing::Test {
protected:
  void SetUp() override {
    folder = testing::TempDir() + "/write_file";
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  size_t entries() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder), {}));
  }
  std::string folder;
};

/// Files of more bytes cannot be written while it lives.
class SizeLimit {
public:
  explicit SizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before);
    rlimit limit = {bytes, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SizeLimit() { setrlimit(RLIMIT_FSIZE, &before); }

private:
  rlimit before;
};

#define EXPECT_CANNOT_WRITE(result, text)                                      \
  do {                                                                         \
    auto written = (result);                                                   \
    ASSERT_FALSE(written);                                                     \
    EXPECT_EQ(written.errors().front().code, ErrorCode::CannotWrite);          \
    EXPECT_NE(written.errors().front().message.find(text), std::string::npos)  \
        << str(written.errors());                                              \
  } while (false)

TEST_F(WriteFile, CreatesAndReplaces) {
  std::string path = folder + "/a";
  ASSERT_TRUE(writeFile(path, "first"));
  EXPECT_EQ(contentOf(path), "first");
  ASSERT_EQ(chmod(path.c_str(), 0751), 0);
  ASSERT_TRUE(writeFile(path, "2"));
  EXPECT_EQ(contentOf(path), "2");
  struct stat about;
  ASSERT_EQ(stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0751u);
  ASSERT_TRUE(writeFile(path, ""));
  EXPECT_EQ(contentOf(path), "");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(WriteFile, NewFilesHaveThePermissionsOfTheProcess) {
  mode_t mask = umask(027);
  std::string path = folder + "/a";
  ASSERT_TRUE(writeFile(path, "x"));
  umask(mask);
  struct stat about;
  ASSERT_EQ(stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0640u);
}

TEST_F(WriteFile, ASizeLimitIsAnErrorThatLeavesNothing) {
  std::string old = folder + "/old", fresh = folder + "/fresh";
  std::string large(100000, 'x');
  ASSERT_TRUE(writeFile(old, "as it was"));
  SizeLimit limit(4096);
  EXPECT_CANNOT_WRITE(writeFile(old, large), old + ": File too large");
  EXPECT_CANNOT_WRITE(writeFile(fresh, large), fresh + ": File too large");
  EXPECT_EQ(contentOf(old), "as it was");
  EXPECT_EQ(entries(), 1u);
  // The signal is not kept for later, either.
  sigset_t pending;
  sigpending(&pending);
  EXPECT_FALSE(sigismember(&pending, SIGXFSZ));
}

TEST_F(WriteFile, SeveralAreWrittenTogetherOrNotAtAll) {
  std::string one = folder + "/one", two = folder + "/two";
  std::string large(100000, 'x');
  FileContent files[] = {{one, "1"}, {two, large}};
  {
    SizeLimit limit(4096);
    EXPECT_CANNOT_WRITE(writeFiles(files), two);
  }
  EXPECT_EQ(entries(), 0u);
  ASSERT_TRUE(writeFiles(files));
  EXPECT_EQ(contentOf(one), "1");
  EXPECT_EQ(contentOf(two), large);
}

TEST_F(WriteFile, SaysWhyNot) {
  EXPECT_CANNOT_WRITE(writeFile("/dev/full", "x"),
                      "/dev/full: No space left on device");
  EXPECT_CANNOT_WRITE(writeFile(folder, "x"), folder + ": Is a directory");
  std::string missing = folder + "/none/a";
  EXPECT_CANNOT_WRITE(writeFile(missing, "x"),
                      missing + ": No such file or directory");
  EXPECT_CANNOT_WRITE(writeFile("", "x"), "");
  std::string longName = folder + "/" + std::string(300, 'n');
  EXPECT_CANNOT_WRITE(writeFile(longName, "x"), "File name too long");
  EXPECT_EQ(entries(), 0u);
}

TEST_F(WriteFile, WhatIsNoRegularFileIsWrittenInPlace) {
  ASSERT_TRUE(writeFile("/dev/null", "x"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(WriteFile, LinksStay) {
  std::string path = folder + "/a", link = folder + "/link";
  ASSERT_TRUE(writeFile(path, "1"));
  fs::create_symlink("a", link);
  ASSERT_TRUE(writeFile(link, "2"));
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(contentOf(path), "2");
}

} // namespace
