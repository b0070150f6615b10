//===-- Profile.cpp - time per section name -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Profile.h"

#include <cstring>

using namespace tenon::rt;

static uint64_t hashName(const char *name) {
  uint64_t hash = 0;
  for (; *name; ++name)
    hash = (hash ^ uint64_t(static_cast<unsigned char>(*name))) *
           0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}

/// The place of `name` in a table with at least one free place.
static tenon_profile_entry *probe(tenon_profile_entry *table, size_t places,
                                  const char *name) {
  size_t place = hashName(name) & (places - 1);
  while (table[place].name && strcmp(table[place].name, name) != 0)
    place = (place + 1) & (places - 1);
  return &table[place];
}

void Profile::lockTable() {
  lock.lock();
  if (generation == forkGeneration())
    return;
  // The child of a fork: a thread that no longer exists may have been halfway
  // through a change.  Start afresh.
  generation = forkGeneration();
  table = nullptr;
  places = used = 0;
}

bool Profile::grow() {
  size_t morePlaces = places ? places * 2 : 64;
  if (morePlaces > kMaxNames * 2)
    return false;
  size_t bytes = morePlaces * sizeof(tenon_profile_entry);
  auto *more =
      static_cast<tenon_profile_entry *>(allocator->allocate(int64_t(bytes)));
  if (!more)
    return false;
  memset(more, 0, bytes);
  for (size_t i = 0; i < places; ++i)
    if (table[i].name)
      *probe(more, morePlaces, table[i].name) = table[i];
  allocator->release(table);
  table = more;
  places = morePlaces;
  return true;
}

/// The entry of `name`, new if need be; null without memory.
tenon_profile_entry *Profile::find(const char *name) {
  if (used * 4 >= places * 3 && !grow() && used + 1 >= places)
    return nullptr;
  tenon_profile_entry *entry = probe(table, places, name);
  if (entry->name)
    return entry;
  size_t length = strlen(name) + 1;
  auto *copy = static_cast<char *>(allocator->allocate(int64_t(length)));
  if (!copy)
    return nullptr;
  memcpy(copy, name, length);
  entry->name = copy;
  entry->min_ns = UINT64_MAX;
  ++used;
  return entry;
}

void Profile::record(const char *name, int64_t items, int64_t ns) {
  lockTable();
  if (tenon_profile_entry *entry = find(name ? name : "(unnamed)")) {
    uint64_t time = ns > 0 ? uint64_t(ns) : 0;
    ++entry->count;
    entry->items += items > 0 ? uint64_t(items) : 0;
    entry->total_ns += time;
    entry->min_ns = time < entry->min_ns ? time : entry->min_ns;
    entry->max_ns = time > entry->max_ns ? time : entry->max_ns;
  }
  lock.unlock();
}

size_t Profile::read(tenon_profile_entry *out, size_t capacity) {
  lockTable();
  size_t kept = 0;
  for (size_t i = 0; i < places; ++i) {
    const tenon_profile_entry &entry = table[i];
    if (!entry.name || capacity == 0)
      continue;
    // Insertion into the sorted output; what falls off the end is smaller.
    size_t at = kept < capacity ? kept++ : capacity;
    while (at > 0 && out[at - 1].total_ns < entry.total_ns) {
      if (at < capacity)
        out[at] = out[at - 1];
      --at;
    }
    if (at < capacity)
      out[at] = entry;
  }
  size_t count = used;
  lock.unlock();
  return count;
}

void Profile::reset() {
  lockTable();
  for (size_t i = 0; i < places; ++i)
    allocator->release(const_cast<char *>(table[i].name));
  allocator->release(table);
  table = nullptr;
  places = used = 0;
  lock.unlock();
}
