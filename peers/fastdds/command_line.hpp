// What the Fast DDS peers of the interoperability matrix have in common: the shared command line and the JSON lines,
// both described in peers/README.md.

#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

using Clock = std::chrono::steady_clock;

namespace {

// Wait after the first match before a volatile writer starts, so that the reader has matched as well.
constexpr auto kSettle = std::chrono::milliseconds(1500);
constexpr int kExitIncomplete = 3;
constexpr int kExitUsage = 2;
constexpr int kExitFailed = 1;

struct Options {
    bool publisher = false;
    uint32_t domain = 0;
    std::string topic;
    std::string type;
    std::vector<std::string> partitions;
    bool reliable = false;
    bool transient_local = false;
    uint32_t count = 0;
    double timeout_seconds = 0;
    double linger_seconds = 2;
    bool dispose = false;
    bool gate = false;
    bool type_information = false;
    bool ipv6 = false;
    // Liveliness lease, automatic; zero for an infinite one.
    double lease_seconds = 0;
    // Deadline and lifespan; zero for infinite ones.
    double deadline_seconds = 0;
    double lifespan_seconds = 0;
    // Exclusive ownership with this strength, unless it is empty.
    std::string strength;
    // Unregister every instance at the end and so, by the writer's data life cycle, dispose of it.
    bool autodispose = false;
    // Pause between two samples.
    double period_seconds = 0.01;
    // Where a subscriber also hears data, as ADDRESS:PORT; empty for nowhere.
    std::string group;
};

std::mutex output_mutex;

template <typename... Args>
void say(const char* format, Args... args)
{
    std::lock_guard<std::mutex> guard(output_mutex);
    std::printf(format, args...);
    std::fputc('\n', stdout);
    std::fflush(stdout);
}

[[noreturn]] void usage(const std::string& problem)
{
    std::fprintf(stderr, "peer: %s\nSee peers/README.md for the command line.\n", problem.c_str());
    std::exit(kExitUsage);
}

Options parse(int argc, char** argv)
{
    Options options;
    if (argc < 2 || (std::string(argv[1]) != "pub" && std::string(argv[1]) != "sub")) {
        usage("the first argument must be pub or sub");
    }
    options.publisher = std::string(argv[1]) == "pub";
    for (int i = 2; i < argc; i++) {
        const std::string name = argv[i];
        if (name == "--dispose") {
            options.dispose = true;
            continue;
        }
        if (name == "--gate") {
            options.gate = true;
            continue;
        }
        if (name == "--type-information") {
            options.type_information = true;
            continue;
        }
        if (name == "--autodispose") {
            options.autodispose = true;
            continue;
        }
        if (name == "--ipv6") {
            options.ipv6 = true;
            continue;
        }
        if (i + 1 >= argc) {
            usage("no value for " + name);
        }
        const std::string value = argv[++i];
        if (name == "--domain") options.domain = static_cast<uint32_t>(std::stoul(value));
        else if (name == "--topic") options.topic = value;
        else if (name == "--type") options.type = value;
        else if (name == "--partition") options.partitions.push_back(value);
        else if (name == "--reliability") options.reliable = value == "reliable";
        else if (name == "--durability") options.transient_local = value == "transient-local";
        else if (name == "--count") options.count = static_cast<uint32_t>(std::stoul(value));
        else if (name == "--timeout") options.timeout_seconds = std::stod(value);
        else if (name == "--lease") options.lease_seconds = std::stod(value);
        else if (name == "--deadline") options.deadline_seconds = std::stod(value);
        else if (name == "--lifespan") options.lifespan_seconds = std::stod(value);
        else if (name == "--strength") options.strength = value;
        else if (name == "--period") options.period_seconds = std::stod(value);
        else if (name == "--group") options.group = value;
        else if (name == "--linger") options.linger_seconds = std::stod(value);
        else usage("unknown option " + name);
    }
    if (options.topic.empty()) usage("--topic is missing");
    if (options.type != "Item" && options.type != "Plain" && options.type != "Big") usage("--type must be Item, Plain or Big");
    if (options.dispose && options.type != "Item") usage("--dispose needs the keyed type: --type Item");
    return options;
}

std::string escape(const std::string& text)
{
    std::string out;
    for (unsigned char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += static_cast<char>(c);
        } else if (c < 0x20) {
            char buffer[8];
            std::snprintf(buffer, sizeof buffer, "\\u%04x", c);
            out += buffer;
        } else {
            out += static_cast<char>(c);
        }
    }
    return out;
}

Clock::time_point after(double seconds)
{
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

} // namespace
