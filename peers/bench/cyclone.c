/* Cyclone DDS 0.10 in the benches of `stillwatt bus bench`. Command line and lines printed: peers/README.md, "Benches".
 * Built with the output of idlc from bench.idl. */

#include "bench.h"
#include "dds/dds.h"
#include "dds/version.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* With many processes each may take a second more, up to the second limit: they all look for each other. */
#define MATCH_SECONDS_MAX 60
#define MATCH_SECONDS_MAX_ALL 240
/* A refused sample is written again; a stream with more refusals goes on without them. */
#define REFUSED_MAX 10000

static uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void fail(const char *what, const char *which) {
    fprintf(stderr, "cyclone bench peer: %s %s\n", what, which);
    exit(1);
}

static dds_entity_t made(dds_entity_t entity, const char *what) {
    if (entity < 0) {
        fail(what, dds_strretcode(-entity));
    }
    return entity;
}

static struct {
    const char *verb, *transport, *address, *server;
    uint32_t domain, id, size, samples, subscribers, participants, endpoints;
    bool reliable, tuned;
} options = {
    .transport = "udp", .address = "", .server = "", .size = 64, .samples = 1000,
    .subscribers = 1, .participants = 1, .endpoints = 2,
};

static void parse(int count, char **words) {
    const struct { const char *name; uint32_t *value; } numbers[] = {
        {"--domain", &options.domain}, {"--id", &options.id}, {"--size", &options.size},
        {"--samples", &options.samples}, {"--subscribers", &options.subscribers},
        {"--participants", &options.participants}, {"--endpoints", &options.endpoints},
    };
    const struct { const char *name; const char **value; } texts[] = {
        {"--transport", &options.transport}, {"--address", &options.address}, {"--server", &options.server},
    };
    if (count < 2) {
        fail("a verb is missing", "");
    }
    options.verb = words[1];
    for (int i = 2; i < count; ++i) {
        const char *name = words[i];
        bool known = false;
        if (strcmp(name, "--reliable") == 0) {
            options.reliable = true;
            continue;
        }
        if (strcmp(name, "--tuned") == 0) {
            options.tuned = true;
            continue;
        }
        if (i + 1 == count) {
            fail("a value is missing after", name);
        }
        const char *value = words[++i];
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; ++k) {
            if (strcmp(name, numbers[k].name) == 0) {
                *numbers[k].value = (uint32_t)strtoul(value, NULL, 10);
                known = true;
            }
        }
        for (size_t k = 0; k < sizeof texts / sizeof *texts; ++k) {
            if (strcmp(name, texts[k].name) == 0) {
                *texts[k].value = value;
                known = true;
            }
        }
        if (!known) {
            fail("unknown option", name);
        }
    }
}

/* Defaults, except what the transport and the interface ask for. Tuned: large datagrams and buffers, synchronous
 * delivery, and samples gathered into datagrams by tx. */
static void configure(void) {
    const bool multicast = strcmp(options.transport, "udpm") == 0;
    if (!multicast && strcmp(options.transport, "udp") != 0) {
        fail("it has no transport", options.transport);
    }
    char interfaces[200] = "", text[1000];
    if (*options.address != '\0') {
        snprintf(interfaces, sizeof interfaces,
            "<Interfaces><NetworkInterface address=\"%s\" multicast=\"true\"/></Interfaces>", options.address);
    }
    const char *tuned = !options.tuned ? "" :
        "<Internal><SocketReceiveBufferSize min=\"4MiB\"/><SocketSendBufferSize min=\"4MiB\"/>"
        "<SynchronousDeliveryLatencyBound>inf</SynchronousDeliveryLatencyBound>"
        "<SynchronousDeliveryPriorityThreshold>0</SynchronousDeliveryPriorityThreshold>"
        "<Watermarks><WhcHigh>4MB</WhcHigh></Watermarks></Internal>";
    snprintf(text, sizeof text, "<Domain id=\"any\"><General>%s<AllowMulticast>%s</AllowMulticast>%s</General>%s</Domain>",
        interfaces, multicast ? "true" : "spdp",
        options.tuned ? "<MaxMessageSize>65500B</MaxMessageSize><FragmentSize>65000B</FragmentSize>" : "", tuned);
    if (options.tuned && strcmp(options.verb, "tx") == 0) {
        dds_write_set_batch(true);
    }
    made(dds_create_domain(options.domain, text), "domain:");
}

/* Counts endpoints that have at least as many peers as they want. */
static pthread_mutex_t matches_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t matches_changed = PTHREAD_COND_INITIALIZER;
static uint32_t matches_satisfied;

static void match_changed(uint32_t current, int32_t change, uint32_t wanted) {
    const bool now = current >= wanted, before = (int64_t)current - change >= (int64_t)wanted;
    pthread_mutex_lock(&matches_lock);
    if (now != before) {
        matches_satisfied += now ? 1u : -1u;
        pthread_cond_broadcast(&matches_changed);
    }
    pthread_mutex_unlock(&matches_lock);
}

static void on_writer_matched(dds_entity_t writer, const dds_publication_matched_status_t status, void *wanted) {
    (void)writer;
    match_changed(status.current_count, status.current_count_change, (uint32_t)(uintptr_t)wanted);
}

static void on_reader_matched(dds_entity_t reader, const dds_subscription_matched_status_t status, void *wanted) {
    (void)reader;
    match_changed(status.current_count, status.current_count_change, (uint32_t)(uintptr_t)wanted);
}

static bool wait_for_matches(uint32_t endpoints) {
    const uint32_t wanted = MATCH_SECONDS_MAX + options.subscribers;
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += wanted < MATCH_SECONDS_MAX_ALL ? wanted : MATCH_SECONDS_MAX_ALL;
    pthread_mutex_lock(&matches_lock);
    int result = 0;
    while (matches_satisfied < endpoints && result == 0) {
        result = pthread_cond_timedwait(&matches_changed, &matches_lock, &end);
    }
    const bool matched = matches_satisfied >= endpoints;
    pthread_mutex_unlock(&matches_lock);
    return matched;
}

/* Depth 0 keeps all samples. */
static dds_qos_t *qos_of(int32_t depth) {
    dds_qos_t *qos = dds_create_qos();
    dds_qset_reliability(qos, options.reliable ? DDS_RELIABILITY_RELIABLE : DDS_RELIABILITY_BEST_EFFORT, DDS_SECS(10));
    dds_qset_history(qos, depth > 0 ? DDS_HISTORY_KEEP_LAST : DDS_HISTORY_KEEP_ALL, depth);
    return qos;
}

static dds_entity_t join(void) {
    return made(dds_create_participant(options.domain, NULL, NULL), "participant:");
}

static dds_entity_t topic_of(dds_entity_t participant, const char *name) {
    return made(dds_create_topic(participant, &bench_Msg_desc, name, NULL, NULL), "topic:");
}

static dds_entity_t writer_of(dds_entity_t participant, dds_entity_t topic, int32_t depth, uint32_t wanted) {
    dds_listener_t *listener = dds_create_listener(NULL);
    dds_lset_publication_matched_arg(listener, on_writer_matched, (void *)(uintptr_t)wanted, true);
    dds_qos_t *qos = qos_of(depth);
    const dds_entity_t writer = made(dds_create_writer(participant, topic, qos, listener), "writer:");
    dds_delete_qos(qos);
    dds_delete_listener(listener);
    return writer;
}

static dds_entity_t reader_of(
    dds_entity_t participant, dds_entity_t topic, int32_t depth, uint32_t wanted, dds_on_data_available_fn on_data) {
    dds_listener_t *listener = dds_create_listener(NULL);
    dds_lset_subscription_matched_arg(listener, on_reader_matched, (void *)(uintptr_t)wanted, true);
    if (on_data != NULL) {
        dds_lset_data_available(listener, on_data);
    }
    dds_qos_t *qos = qos_of(depth);
    const dds_entity_t reader = made(dds_create_reader(participant, topic, qos, listener), "reader:");
    dds_delete_qos(qos);
    dds_delete_listener(listener);
    return reader;
}

#define TAKEN_MAX 64

/* Takes what has come and gives each valid sample to `use`, one at a time where the answer must not wait. */
static void take(dds_entity_t reader, int32_t at_once, void (*use)(bench_Msg *message)) {
    void *samples[TAKEN_MAX] = {NULL};
    dds_sample_info_t infos[TAKEN_MAX];
    dds_return_t count;
    while ((count = dds_take(reader, samples, infos, (size_t)at_once, (uint32_t)at_once)) > 0) {
        for (dds_return_t i = 0; i < count; ++i) {
            if (infos[i].valid_data) {
                use(samples[i]);
            }
        }
        dds_return_loan(reader, samples, count);
        memset(samples, 0, sizeof samples);
    }
}

static void wait_for_end(void) {
    char buffer[64];
    while (read(STDIN_FILENO, buffer, sizeof buffer) > 0) {
    }
    fflush(stdout);
    _exit(0);
}

static void wait_for_go(void) {
    char byte = 0;
    printf("{\"waiting\":true}\n");
    while (read(STDIN_FILENO, &byte, 1) == 1 && byte != '\n') {
    }
}

static dds_entity_t main_writer;

static void answer(bench_Msg *message) {
    message->id = options.id;
    dds_write(main_writer, message);
}

static void on_ping(dds_entity_t reader, void *unused) {
    (void)unused;
    take(reader, 1, answer);
}

static int pong(void) {
    const dds_entity_t participant = join();
    main_writer = writer_of(participant, topic_of(participant, "bench/pong"), 64, 1);
    reader_of(participant, topic_of(participant, "bench/ping"), 64, 1, on_ping);
    printf("{\"ready\":true}\n");
    wait_for_end();
    return 0;
}

static struct {
    pthread_mutex_t lock;
    bench_Msg message;
    uint64_t *answers, *rounds, started;
    uint32_t *answered, answers_count, rounds_count, got;
    _Atomic uint32_t finished;
} master = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void send_round(void) {
    master.started = now_ns();
    dds_write(main_writer, &master.message);
}

static void use_answer(bench_Msg *message) {
    const uint64_t time = now_ns();
    pthread_mutex_lock(&master.lock);
    if (message->seq == master.message.seq && message->id < options.subscribers
        && master.answered[message->id] != message->seq + 1 && master.rounds_count < options.samples) {
        master.answered[message->id] = message->seq + 1;
        master.answers[master.answers_count++] = time - master.started;
        if (++master.got == options.subscribers) {
            master.rounds[master.rounds_count++] = time - master.started;
            master.got = 0;
            master.finished = master.rounds_count;
            if (master.rounds_count < options.samples) {
                ++master.message.seq;
                send_round();
            }
        }
    }
    pthread_mutex_unlock(&master.lock);
}

static void on_pong(dds_entity_t reader, void *unused) {
    (void)unused;
    take(reader, 1, use_answer);
}

static void fill_message(bench_Msg *message) {
    message->data._buffer = malloc(options.size + 1);
    memset(message->data._buffer, 1, options.size);
    message->data._length = message->data._maximum = options.size;
}

static void print_list(const char *name, const uint64_t *values, uint32_t count) {
    printf("\"%s\":[", name);
    for (uint32_t i = 0; i < count; ++i) {
        printf(i == 0 ? "%llu" : ",%llu", (unsigned long long)values[i]);
    }
    printf("]");
}

static int ping(void) {
    const size_t rounds = options.samples, answers = rounds * options.subscribers;
    master.answers = calloc(answers, sizeof *master.answers);
    master.rounds = calloc(rounds, sizeof *master.rounds);
    master.answered = calloc(options.subscribers, sizeof *master.answered);
    fill_message(&master.message);
    const dds_entity_t participant = join();
    main_writer = writer_of(participant, topic_of(participant, "bench/ping"), 64, options.subscribers);
    reader_of(participant, topic_of(participant, "bench/pong"), 64, options.subscribers, on_pong);
    if (!wait_for_matches(2)) {
        fail("the answering processes were not found", "");
    }
    usleep(300000);
    pthread_mutex_lock(&master.lock);
    send_round();
    pthread_mutex_unlock(&master.lock);
    uint32_t last = 0, repeated = 0, still = 0;
    while (master.finished < options.samples) {
        usleep(50000);
        still = master.finished == last ? still + 1 : 0;
        last = master.finished;
        if (still == 10) {
            if (++repeated > 50) {
                fail("answers keep getting lost", "");
            }
            pthread_mutex_lock(&master.lock);
            send_round();
            pthread_mutex_unlock(&master.lock);
            still = 0;
        }
    }
    printf("{");
    print_list("answers_ns", master.answers, master.answers_count);
    printf(",");
    print_list("rounds_ns", master.rounds, master.rounds_count);
    printf(",\"repeated\":%u}\n", repeated);
    fflush(stdout);
    _exit(0);
}

static struct {
    uint64_t bytes, disordered, first;
    _Atomic uint64_t received, last;
    _Atomic uint32_t next;
} drain;

static void count_message(bench_Msg *message) {
    drain.disordered += message->seq != drain.next;
    drain.next = message->seq + 1;
    drain.bytes += message->data._length;
    ++drain.received;
}

static void on_stream(dds_entity_t reader, void *unused) {
    (void)unused;
    if (drain.first == 0) {
        drain.first = now_ns();
    }
    take(reader, TAKEN_MAX, count_message);
    drain.last = now_ns();
}

static int rx(void) {
    const dds_entity_t participant = join();
    reader_of(participant, topic_of(participant, "bench/ping"), 0, 1, on_stream);
    printf("{\"ready\":true}\n");
    while (drain.next < options.samples && (drain.received == 0 || now_ns() - drain.last < 3000000000u)) {
        usleep(10000);
    }
    usleep(10000);
    printf("{\"received\":%llu,\"disordered\":%llu,\"bytes\":%llu,\"first_ns\":%llu,\"last_ns\":%llu}\n",
        (unsigned long long)drain.received, (unsigned long long)drain.disordered, (unsigned long long)drain.bytes,
        (unsigned long long)drain.first, (unsigned long long)drain.last);
    wait_for_end();
    return 0;
}

static int tx(void) {
    const dds_entity_t participant = join();
    const int32_t depth = options.reliable ? 0 : 64;
    main_writer = writer_of(participant, topic_of(participant, "bench/ping"), depth, 1);
    if (!wait_for_matches(1)) {
        fail("the receiving process was not found", "");
    }
    usleep(300000);
    bench_Msg message = {0};
    fill_message(&message);
    uint32_t refused = 0;
    const uint64_t first = now_ns();
    for (message.seq = 0; message.seq < options.samples; ++message.seq) {
        while (dds_write(main_writer, &message) != DDS_RETCODE_OK && refused < REFUSED_MAX) {
            ++refused;
        }
    }
    dds_write_flush(main_writer);
    const uint64_t last = now_ns();
    const bool acknowledged = dds_wait_for_acks(main_writer, DDS_SECS(30)) == DDS_RETCODE_OK;
    printf("{\"sent\":%u,\"refused\":%u,\"first_ns\":%llu,\"last_ns\":%llu,\"acknowledged\":%s}\n", options.samples,
        refused, (unsigned long long)first, (unsigned long long)last, acknowledged ? "true" : "false");
    wait_for_end();
    return 0;
}

static void print_created(uint64_t started) {
    printf("{\"started_ns\":%llu,\"created_ns\":%llu}\n", (unsigned long long)started, (unsigned long long)now_ns());
}

static void print_matched(bool matched) {
    printf("{\"matched\":%s,\"matched_ns\":%llu}\n", matched ? "true" : "false", (unsigned long long)now_ns());
}

static int crowd(void) {
    const bool is_watched = strcmp(options.verb, "dsub") == 0;
    if (is_watched) {
        wait_for_go();
    }
    const uint64_t started = now_ns();
    for (uint32_t number = 0; number < options.participants; ++number) {
        const dds_entity_t participant = join();
        const dds_entity_t ping_topic = topic_of(participant, "bench/ping"), pong_topic = topic_of(participant, "bench/pong");
        for (uint32_t endpoint = 0; endpoint < options.endpoints; ++endpoint) {
            if (endpoint % 2 == 0) {
                reader_of(participant, ping_topic, 1, 1, NULL);
            } else {
                writer_of(participant, pong_topic, 1, 1);
            }
        }
    }
    print_created(started);
    if (is_watched) {
        print_matched(wait_for_matches(options.participants * options.endpoints));
    }
    wait_for_end();
    return 0;
}

static int hub(void) {
    wait_for_go();
    const uint64_t started = now_ns();
    const dds_entity_t participant = join();
    writer_of(participant, topic_of(participant, "bench/ping"), 1, options.subscribers);
    reader_of(participant, topic_of(participant, "bench/pong"), 1, options.subscribers, NULL);
    print_created(started);
    print_matched(wait_for_matches(2));
    wait_for_end();
    return 0;
}

static int version(void) {
    printf("{\"version\":\"%s\"}\n", DDS_VERSION);
    return 0;
}

int main(int count, char **words) {
    setvbuf(stdout, NULL, _IOLBF, 1 << 16);
    parse(count, words);
    if (strcmp(options.verb, "version") != 0) {
        configure();
    }
    const struct { const char *name; int (*run)(void); } verbs[] = {
        {"pong", pong}, {"ping", ping}, {"rx", rx}, {"tx", tx}, {"dsub", crowd}, {"dpub", hub}, {"idle", crowd},
        {"version", version},
    };
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; ++i) {
        if (strcmp(options.verb, verbs[i].name) == 0) {
            return verbs[i].run();
        }
    }
    fail("unknown verb", options.verb);
}
