// Fast DDS 2.9 or 3.2 in the benches of `stillwatt bus bench`. Command line and lines printed: peers/README.md, "Benches".
//
// What differs between the two is in fastdds_2.hpp and fastdds_3.hpp. The type is written by hand against fastcdr, as its
// generator would, so that no Java is needed. Transports are chosen in code; data sharing and intra-process delivery are off, because the bench is about transports.

#ifdef FAST_DDS_3
#include "fastdds_3.hpp"
#else
#include "fastdds_2.hpp"
#endif

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <time.h>
#include <unistd.h>

using namespace eprosima::fastdds::dds;
using namespace eprosima::fastdds::rtps;
namespace {

constexpr uint32_t BUFFER_BYTES = 4u << 20;
constexpr uint32_t MATCH_SECONDS_MAX = 60;
// With many processes each may take a second more, up to this: they all look for each other.
constexpr uint32_t MATCH_SECONDS_MAX_ALL = 240;
// A refused sample is written again; a stream with more refusals goes on without them.
constexpr uint32_t REFUSED_MAX = 10000;
constexpr char PING[] = "bench/ping";
constexpr char PONG[] = "bench/pong";

uint64_t now_ns() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

[[noreturn]] void fail(const std::string& text) {
    std::fprintf(stderr, "fastdds bench peer: %s\n", text.c_str());
    std::exit(1);
}

struct Options {
    std::string verb, transport = "udp", address, server;
    uint32_t domain = 0, id = 0, size = 64, samples = 1000, subscribers = 1, participants = 1, endpoints = 2;
    bool reliable = false;

    bool is_server() const { return verb == "ping" || verb == "tx" || verb == "dpub"; }
};

Options parse(int count, char** words) {
    if (count < 2) {
        fail("a verb is missing");
    }
    Options options;
    options.verb = words[1];
    const std::map<std::string, uint32_t*> numbers = {
        {"--domain", &options.domain},       {"--id", &options.id},
        {"--size", &options.size},           {"--samples", &options.samples},
        {"--subscribers", &options.subscribers}, {"--participants", &options.participants},
        {"--endpoints", &options.endpoints},
    };
    const std::map<std::string, std::string*> texts = {
        {"--transport", &options.transport}, {"--address", &options.address}, {"--server", &options.server}};
    for (int i = 2; i < count; ++i) {
        const std::string name = words[i];
        if (name == "--reliable") {
            options.reliable = true;
            continue;
        }
        if (i + 1 == count) {
            fail("a value is missing after " + name);
        }
        const char* value = words[++i];
        if (auto number = numbers.find(name); number != numbers.end()) {
            *number->second = static_cast<uint32_t>(std::strtoul(value, nullptr, 10));
        } else if (auto text = texts.find(name); text != texts.end()) {
            *text->second = value;
        } else {
            fail("unknown option " + name);
        }
    }
    return options;
}

// Counts endpoints that have at least `wanted` peers, and lets the main thread wait for it.
class Matches {
public:
    void change(int32_t& counted, int32_t current, int32_t wanted) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if ((counted >= wanted) != (current >= wanted)) {
            satisfied_ += current >= wanted ? 1 : -1;
        }
        counted = current;
        changed_.notify_all();
    }

    bool wait_for(int32_t endpoints, uint32_t subscribers = 0) {
        const uint32_t longest = std::min(MATCH_SECONDS_MAX + subscribers, MATCH_SECONDS_MAX_ALL);
        std::unique_lock<std::mutex> lock(mutex_);
        return changed_.wait_for(
            lock, std::chrono::seconds(longest), [&] { return satisfied_ >= endpoints; });
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int32_t satisfied_ = 0;
};

Matches matches;

class WriterMatches : public DataWriterListener {
public:
    explicit WriterMatches(int32_t wanted) : wanted_(wanted) {}
    void on_publication_matched(DataWriter*, const PublicationMatchedStatus& status) override {
        matches.change(counted_, status.current_count, wanted_);
    }

private:
    int32_t wanted_, counted_ = 0;
};

class ReaderMatches : public DataReaderListener {
public:
    explicit ReaderMatches(int32_t wanted) : wanted_(wanted) {}
    void on_subscription_matched(DataReader*, const SubscriptionMatchedStatus& status) override {
        matches.change(counted_, status.current_count, wanted_);
    }

    void on_data_available(DataReader* reader) override {
        SampleInfo info;
        while (reader->take_next_sample(&message_, &info) == IS_OK) {
            if (info.valid_data) {
                on_message(message_);
            }
        }
    }

protected:
    virtual void on_message(Message&) {}

private:
    int32_t wanted_, counted_ = 0;
    Message message_;
};

uint16_t port_of(const std::string& address) {
    const auto colon = address.rfind(':');
    return colon == std::string::npos ? 0 : static_cast<uint16_t>(std::stoul(address.substr(colon + 1)));
}

std::string host_of(const std::string& address) { return address.substr(0, address.rfind(':')); }

void use_tcp(const Options& options, uint32_t number, DomainParticipantQos& qos) {
    auto tcp = std::make_shared<TCPv4TransportDescriptor>();
    tcp->sendBufferSize = BUFFER_BYTES;
    tcp->receiveBufferSize = BUFFER_BYTES;
    tcp->apply_security = false;
    tcp->enable_tcp_nodelay = true;
    const uint16_t port = port_of(options.server);
    tcp->add_listener_port(options.is_server() ? port : static_cast<uint16_t>(port + 1 + number));
    qos.transport().user_transports.push_back(tcp);
    if (!options.is_server()) {
        Locator_t server;
        server.kind = LOCATOR_KIND_TCPv4;
        IPLocator::setIPv4(server, host_of(options.server));
        IPLocator::setPhysicalPort(server, port);
        IPLocator::setLogicalPort(server, static_cast<uint16_t>(7410 + 250 * options.domain));
        qos.wire_protocol().builtin.initialPeersList.push_back(server);
    }
}

DomainParticipant* join(const Options& options, uint32_t number) {
    auto* factory = DomainParticipantFactory::get_instance();
    DomainParticipantQos qos;
    factory->get_default_participant_qos(qos);
    auto& transports = qos.transport();
    transports.use_builtin_transports = false;
    transports.send_socket_buffer_size = BUFFER_BYTES;
    transports.listen_socket_buffer_size = BUFFER_BYTES;
    if (options.transport == "udp" || options.transport == "udpm") {
        auto udp = std::make_shared<UDPv4TransportDescriptor>();
        udp->sendBufferSize = BUFFER_BYTES;
        udp->receiveBufferSize = BUFFER_BYTES;
        if (!options.address.empty()) {
            udp->interfaceWhiteList.push_back(options.address);
        }
        transports.user_transports.push_back(udp);
    } else if (options.transport == "shm") {
        auto memory = std::make_shared<SharedMemTransportDescriptor>();
        memory->segment_size(8u << 20);
        transports.user_transports.push_back(memory);
    } else if (options.transport == "tcp") {
        use_tcp(options, number, qos);
    } else {
        fail("it has no transport " + options.transport);
    }
    auto* participant = factory->create_participant(options.domain, qos);
    if (participant == nullptr) {
        fail("a participant cannot be created");
    }
    return participant;
}

// Depth 0 keeps all samples.
template <typename Qos>
void apply(const Options& options, Qos& qos, int32_t depth) {
    qos.reliability().kind = options.reliable ? RELIABLE_RELIABILITY_QOS : BEST_EFFORT_RELIABILITY_QOS;
    qos.durability().kind = VOLATILE_DURABILITY_QOS;
    qos.history().kind = depth > 0 ? KEEP_LAST_HISTORY_QOS : KEEP_ALL_HISTORY_QOS;
    qos.history().depth = std::max(depth, 1);
    qos.endpoint().history_memory_policy = PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
    qos.data_sharing().off();
}

struct Endpoints {
    DomainParticipant* participant;
    Publisher* publisher;
    Subscriber* subscriber;
    Topic* ping;
    Topic* pong;

    Endpoints(const Options& options, uint32_t number) : participant(join(options, number)) {
        TypeSupport type(new MessageType(options.size));
        type.register_type(participant);
        publisher = participant->create_publisher(PUBLISHER_QOS_DEFAULT);
        subscriber = participant->create_subscriber(SUBSCRIBER_QOS_DEFAULT);
        ping = participant->create_topic(PING, type.get_type_name(), TOPIC_QOS_DEFAULT);
        pong = participant->create_topic(PONG, type.get_type_name(), TOPIC_QOS_DEFAULT);
    }

    DataWriter* writer(const Options& options, Topic* topic, int32_t depth, DataWriterListener* listener) {
        DataWriterQos qos;
        apply(options, qos, depth);
        qos.publish_mode().kind = SYNCHRONOUS_PUBLISH_MODE;
        // Only the stream may wait: a callback that waits holds up the thread that brings the acknowledgements.
        if (depth == 0) {
            qos.reliability().max_blocking_time = {10, 0};
            qos.resource_limits().max_samples = 5000;
            qos.resource_limits().max_samples_per_instance = 5000;
        }
        auto* writer = publisher->create_datawriter(topic, qos, listener);
        if (writer == nullptr) {
            fail("a writer cannot be created");
        }
        return writer;
    }

    DataReader* reader(const Options& options, Topic* topic, int32_t depth, DataReaderListener* listener) {
        DataReaderQos qos;
        apply(options, qos, depth);
        if (options.transport == "udpm") {
            Locator_t group;
            IPLocator::setIPv4(group, "239.255.0.5");
            group.port = 7900 + (topic == pong ? 1 : 0);
            qos.endpoint().multicast_locator_list.push_back(group);
        }
        auto* reader = subscriber->create_datareader(topic, qos, listener);
        if (reader == nullptr) {
            fail("a reader cannot be created");
        }
        return reader;
    }
};

void print_list(const char* name, const std::vector<uint64_t>& values) {
    std::printf("\"%s\":[", name);
    for (size_t i = 0; i < values.size(); ++i) {
        std::printf(i == 0 ? "%llu" : ",%llu", static_cast<unsigned long long>(values[i]));
    }
    std::printf("]");
}

// Ends the process. Shared memory is given back first: what a killed process leaves stays in /dev/shm.
[[noreturn]] void finish(const Options& options, DomainParticipant* participant) {
    std::fflush(stdout);
    if (options.transport == "shm" && participant != nullptr) {
        participant->delete_contained_entities();
        DomainParticipantFactory::get_instance()->delete_participant(participant);
    }
    std::_Exit(0);
}

void wait_for_end() {
    char buffer[64];
    while (read(STDIN_FILENO, buffer, sizeof buffer) > 0) {
    }
}

void wait_for_go() {
    std::printf("{\"waiting\":true}\n");
    char byte = 0;
    while (read(STDIN_FILENO, &byte, 1) == 1 && byte != '\n') {
    }
}

class Answers : public ReaderMatches {
public:
    explicit Answers(uint32_t id) : ReaderMatches(1), id_(id) {}
    DataWriter* writer = nullptr;

protected:
    void on_message(Message& message) override {
        message.id = id_;
        writer->write(&message);
    }

private:
    uint32_t id_;
};

int pong(const Options& options) {
    Endpoints endpoints(options, options.id);
    WriterMatches writers(1);
    Answers answers(options.id);
    answers.writer = endpoints.writer(options, endpoints.pong, 64, &writers);
    endpoints.reader(options, endpoints.ping, 64, &answers);
    std::printf("{\"ready\":true}\n");
    wait_for_end();
    finish(options, endpoints.participant);
}

class Rounds : public ReaderMatches {
public:
    explicit Rounds(const Options& options)
        : ReaderMatches(static_cast<int32_t>(options.subscribers)), options_(options), answered_(options.subscribers) {
        answers.reserve(static_cast<size_t>(options.samples) * options.subscribers);
        rounds.reserve(options.samples);
        message_.data.assign(options.size, 1);
    }

    DataWriter* writer = nullptr;
    std::vector<uint64_t> answers, rounds;
    std::atomic<uint32_t> finished{0};

    void start() {
        const std::lock_guard<std::mutex> lock(mutex_);
        send();
    }

protected:
    void on_message(Message& message) override {
        const uint64_t time = now_ns();
        const std::lock_guard<std::mutex> lock(mutex_);
        if (message.seq != message_.seq || message.id >= answered_.size() || answered_[message.id] == message.seq + 1
            || rounds.size() >= options_.samples) {
            return;
        }
        answered_[message.id] = message.seq + 1;
        answers.push_back(time - started_);
        if (++got_ < options_.subscribers) {
            return;
        }
        rounds.push_back(time - started_);
        got_ = 0;
        finished = static_cast<uint32_t>(rounds.size());
        if (rounds.size() < options_.samples) {
            ++message_.seq;
            send();
        }
    }

private:
    void send() {
        started_ = now_ns();
        writer->write(&message_);
    }

    const Options& options_;
    std::vector<uint32_t> answered_;
    Message message_;
    uint64_t started_ = 0;
    uint32_t got_ = 0;
    std::mutex mutex_;
};

int ping(const Options& options) {
    Endpoints endpoints(options, 0);
    WriterMatches writers(static_cast<int32_t>(options.subscribers));
    Rounds rounds(options);
    rounds.writer = endpoints.writer(options, endpoints.ping, 64, &writers);
    endpoints.reader(options, endpoints.pong, 64, &rounds);
    if (!matches.wait_for(2, options.subscribers)) {
        fail("the answering processes were not found");
    }
    usleep(300000);
    rounds.start();
    uint32_t last = 0, repeated = 0;
    for (int still = 0; rounds.finished < options.samples;) {
        usleep(50000);
        still = rounds.finished == last ? still + 1 : 0;
        last = rounds.finished;
        if (still == 10) {
            if (++repeated > 50) {
                fail("answers keep getting lost");
            }
            rounds.start();
            still = 0;
        }
    }
    std::printf("{");
    print_list("answers_ns", rounds.answers);
    std::printf(",");
    print_list("rounds_ns", rounds.rounds);
    std::printf(",\"repeated\":%u}\n", repeated);
    finish(options, endpoints.participant);
}

class Drain : public ReaderMatches {
public:
    Drain() : ReaderMatches(1) {}
    std::atomic<uint64_t> received{0}, bytes{0}, disordered{0}, first{0}, last{0};
    std::atomic<uint32_t> next{0};

protected:
    void on_message(Message& message) override {
        const uint64_t time = now_ns();
        if (received == 0) {
            first = time;
        }
        last = time;
        if (message.seq != next) {
            ++disordered;
        }
        next = message.seq + 1;
        bytes += message.data.size();
        ++received;
    }
};

int rx(const Options& options) {
    Endpoints endpoints(options, 0);
    Drain drain;
    endpoints.reader(options, endpoints.ping, 0, &drain);
    std::printf("{\"ready\":true}\n");
    while (drain.next < options.samples && (drain.received == 0 || now_ns() - drain.last < 3000000000u)) {
        usleep(10000);
    }
    std::printf(
        "{\"received\":%llu,\"disordered\":%llu,\"bytes\":%llu,\"first_ns\":%llu,\"last_ns\":%llu}\n",
        static_cast<unsigned long long>(drain.received), static_cast<unsigned long long>(drain.disordered),
        static_cast<unsigned long long>(drain.bytes), static_cast<unsigned long long>(drain.first),
        static_cast<unsigned long long>(drain.last));
    wait_for_end();
    finish(options, endpoints.participant);
}

int tx(const Options& options) {
    Endpoints endpoints(options, 0);
    WriterMatches writers(1);
    auto* writer = endpoints.writer(options, endpoints.ping, options.reliable ? 0 : 64, &writers);
    if (!matches.wait_for(1)) {
        fail("the receiving process was not found");
    }
    usleep(300000);
    Message message;
    message.data.assign(options.size, 1);
    uint32_t refused = 0;
    const uint64_t first = now_ns();
    for (message.seq = 0; message.seq < options.samples; ++message.seq) {
        while (!wrote(writer->write(&message)) && refused < REFUSED_MAX) {
            ++refused;
        }
    }
    const uint64_t last = now_ns();
    const bool acknowledged = writer->wait_for_acknowledgments({30, 0}) == IS_OK;
    std::printf(
        "{\"sent\":%u,\"refused\":%u,\"first_ns\":%llu,\"last_ns\":%llu,\"acknowledged\":%s}\n", options.samples,
        refused, static_cast<unsigned long long>(first), static_cast<unsigned long long>(last),
        acknowledged ? "true" : "false");
    wait_for_end();
    finish(options, endpoints.participant);
}

int crowd(const Options& options) {
    if (options.verb == "dsub") {
        wait_for_go();
    }
    const uint64_t started = now_ns();
    std::vector<std::unique_ptr<Endpoints>> all;
    std::vector<std::unique_ptr<WriterMatches>> writers;
    std::vector<std::unique_ptr<ReaderMatches>> readers;
    for (uint32_t number = 0; number < options.participants; ++number) {
        all.push_back(std::make_unique<Endpoints>(options, number));
        for (uint32_t endpoint = 0; endpoint < options.endpoints; ++endpoint) {
            if (endpoint % 2 == 0) {
                readers.push_back(std::make_unique<ReaderMatches>(1));
                all.back()->reader(options, all.back()->ping, 1, readers.back().get());
            } else {
                writers.push_back(std::make_unique<WriterMatches>(1));
                all.back()->writer(options, all.back()->pong, 1, writers.back().get());
            }
        }
    }
    std::printf(
        "{\"started_ns\":%llu,\"created_ns\":%llu}\n", static_cast<unsigned long long>(started),
        static_cast<unsigned long long>(now_ns()));
    if (options.verb == "dsub") {
        const bool matched = matches.wait_for(static_cast<int32_t>(options.participants * options.endpoints));
        std::printf(
            "{\"matched\":%s,\"matched_ns\":%llu}\n", matched ? "true" : "false",
            static_cast<unsigned long long>(now_ns()));
    }
    wait_for_end();
    for (const auto& one : all) {
        if (options.transport == "shm") {
            one->participant->delete_contained_entities();
            DomainParticipantFactory::get_instance()->delete_participant(one->participant);
        }
    }
    finish(options, nullptr);
}

int hub(const Options& options) {
    wait_for_go();
    const uint64_t started = now_ns();
    const auto wanted = static_cast<int32_t>(options.subscribers);
    Endpoints endpoints(options, 0);
    WriterMatches writers(wanted);
    ReaderMatches readers(wanted);
    endpoints.writer(options, endpoints.ping, 1, &writers);
    endpoints.reader(options, endpoints.pong, 1, &readers);
    std::printf(
        "{\"started_ns\":%llu,\"created_ns\":%llu}\n", static_cast<unsigned long long>(started),
        static_cast<unsigned long long>(now_ns()));
    const bool matched = matches.wait_for(2);
    std::printf(
        "{\"matched\":%s,\"matched_ns\":%llu}\n", matched ? "true" : "false",
        static_cast<unsigned long long>(now_ns()));
    wait_for_end();
    finish(options, endpoints.participant);
}

int version(const Options&) {
    std::printf("{\"version\":\"%s\"}\n", VERSION);
    return 0;
}

} // namespace

int main(int count, char** words) {
    std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);
    const Options options = parse(count, words);
    switch_intraprocess_off();
    const std::map<std::string, int (*)(const Options&)> verbs = {
        {"pong", pong}, {"ping", ping}, {"rx", rx},   {"tx", tx},
        {"dsub", crowd}, {"dpub", hub}, {"idle", crowd}, {"version", version},
    };
    const auto verb = verbs.find(options.verb);
    if (verb == verbs.end()) {
        fail("unknown verb " + options.verb);
    }
    return verb->second(options);
}
