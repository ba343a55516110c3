// Fast DDS 3 peer of the interoperability matrix: one publisher or one subscriber on the shared command line.
//
// As peers/fastdds/peer.cpp, for the interfaces of Fast DDS 3.2 (headers and libraries of the wheel ros-fastdds). The
// types come from the same types.xml, as dynamic types; Fast DDS 3 keeps their keys and announces their type
// information by itself.

#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/DataWriterListener.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/TypeSupport.hpp>
#include <fastdds/dds/xtypes/dynamic_types/DynamicData.hpp>
#include <fastdds/dds/xtypes/dynamic_types/DynamicDataFactory.hpp>
#include <fastdds/dds/xtypes/dynamic_types/DynamicPubSubType.hpp>
#include <fastdds/dds/xtypes/dynamic_types/DynamicType.hpp>
#include <fastdds/dds/xtypes/dynamic_types/DynamicTypeBuilder.hpp>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.hpp>
#include <fastdds/utils/IPLocator.hpp>

#include "../fastdds/command_line.hpp"

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <thread>

using namespace eprosima::fastdds::dds;
using eprosima::fastdds::rtps::UDPv4TransportDescriptor;

namespace {

std::string policy_name(uint32_t id)
{
    switch (id) {
        case DURABILITY_QOS_POLICY_ID: return "durability";
        case PRESENTATION_QOS_POLICY_ID: return "presentation";
        case DEADLINE_QOS_POLICY_ID: return "deadline";
        case OWNERSHIP_QOS_POLICY_ID: return "ownership";
        case LIVELINESS_QOS_POLICY_ID: return "liveliness";
        case RELIABILITY_QOS_POLICY_ID: return "reliability";
        case DATAREPRESENTATION_QOS_POLICY_ID: return "representation";
        default: return std::to_string(id);
    }
}

using Data = traits<DynamicData>::ref_type;
using Type = traits<DynamicType>::ref_type;

struct WriterListener : DataWriterListener {
    std::atomic<int> matched{0};

    void on_publication_matched(DataWriter*, const PublicationMatchedStatus& status) override
    {
        matched = status.current_count;
        say("{\"matched\": %d}", status.current_count);
    }

    void on_offered_deadline_missed(DataWriter*, const OfferedDeadlineMissedStatus& status) override
    {
        say("{\"deadline_missed\": %u}", status.total_count);
    }

    void on_offered_incompatible_qos(DataWriter*, const OfferedIncompatibleQosStatus& status) override
    {
        say("{\"incompatible_qos\": \"%s\"}", policy_name(status.last_policy_id).c_str());
    }
};

struct ReaderListener : DataReaderListener {
    void on_liveliness_changed(DataReader*, const LivelinessChangedStatus& status) override
    {
        say("{\"alive\": %d}", status.alive_count);
    }

    void on_requested_deadline_missed(DataReader*, const RequestedDeadlineMissedStatus& status) override
    {
        say("{\"deadline_missed\": %u}", status.total_count);
    }

    void on_subscription_matched(DataReader*, const SubscriptionMatchedStatus& status) override
    {
        say("{\"matched\": %d}", status.current_count);
    }

    void on_requested_incompatible_qos(DataReader*, const RequestedIncompatibleQosStatus& status) override
    {
        say("{\"incompatible_qos\": \"%s\"}", policy_name(status.last_policy_id).c_str());
    }
};

template <typename Qos>
void endpoint_qos(Qos& qos, const Options& options)
{
    qos.reliability().kind = options.reliable ? RELIABLE_RELIABILITY_QOS : BEST_EFFORT_RELIABILITY_QOS;
    qos.durability().kind = options.transient_local ? TRANSIENT_LOCAL_DURABILITY_QOS : VOLATILE_DURABILITY_QOS;
    qos.history().kind = KEEP_LAST_HISTORY_QOS;
    qos.history().depth = 1000;
    qos.resource_limits().max_instances = 10;
    qos.resource_limits().max_samples_per_instance = 1000;
    qos.resource_limits().max_samples = 10000;
    qos.resource_limits().allocated_samples = 10;
    qos.endpoint().history_memory_policy = eprosima::fastdds::rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
    qos.data_sharing().off();
    if (options.deadline_seconds > 0) {
        qos.deadline().period = Duration_t(options.deadline_seconds);
    }
    if (options.lifespan_seconds > 0) {
        qos.lifespan().duration = Duration_t(options.lifespan_seconds);
    }
    if (!options.strength.empty()) {
        qos.ownership().kind = EXCLUSIVE_OWNERSHIP_QOS;
    }
    if (options.lease_seconds > 0) {
        qos.liveliness().kind = AUTOMATIC_LIVELINESS_QOS;
        qos.liveliness().lease_duration = Duration_t(options.lease_seconds);
        qos.liveliness().announcement_period = Duration_t(options.lease_seconds / 3);
    }
    qos.representation().m_value.push_back(XCDR_DATA_REPRESENTATION);
}

MemberId member(const Data& data, const char* name)
{
    return data->get_member_id_by_name(name);
}

uint32_t number(const Data& data, const char* name)
{
    uint32_t value = 0;
    data->get_uint32_value(value, member(data, name));
    return value;
}

void fill(const Data& data, const Options& options, uint32_t k)
{
    if (options.type == "Item") {
        data->set_uint32_value(member(data, "id"), k % 3);
        data->set_float64_value(member(data, "value"), 1.5 * k);
        data->set_string_value(member(data, "name"), "fastdds3-" + std::to_string(k));
        data->set_uint32_values(member(data, "arr"), {1, 2, 3});
        return;
    }
    data->set_uint32_value(member(data, "id"), 7);
    data->set_uint32_value(member(data, "seq"), k);
    ByteSeq bytes(options.type == "Big" ? 200000 : 64);
    for (uint32_t j = 0; j < bytes.size(); j++) {
        bytes[j] = static_cast<uint8_t>((j + k) % 251);
    }
    data->set_byte_values(member(data, "data"), bytes);
}

void print_sample(const Data& data, const Options& options)
{
    if (options.type == "Item") {
        UInt32Seq arr;
        data->get_uint32_values(arr, member(data, "arr"));
        std::string list;
        for (const auto value : arr) {
            list += (list.empty() ? "" : ", ") + std::to_string(value);
        }
        double value = 0;
        data->get_float64_value(value, member(data, "value"));
        std::string name;
        data->get_string_value(name, member(data, "name"));
        say("{\"id\": %" PRIu32 ", \"value\": %.17g, \"name\": \"%s\", \"arr\": [%s], \"state\": \"alive\"}",
                number(data, "id"), value, escape(name).c_str(), list.c_str());
        return;
    }
    ByteSeq bytes;
    data->get_byte_values(bytes, member(data, "data"));
    uint32_t checksum = 0;
    for (const auto byte : bytes) {
        checksum += byte;
    }
    say("{\"id\": %" PRIu32 ", \"seq\": %" PRIu32 ", \"length\": %zu, \"checksum\": %" PRIu32 ", \"state\": \"alive\"}",
            number(data, "id"), number(data, "seq"), bytes.size(), checksum);
}

int publish(const Options& options, DomainParticipant* participant, Topic* topic, const Type& type)
{
    PublisherQos group;
    for (const auto& partition : options.partitions) {
        group.partition().push_back(partition.c_str());
    }
    Publisher* publisher = participant->create_publisher(group);
    DataWriterQos qos;
    endpoint_qos(qos, options);
    static WriterListener listener;
    if (!options.strength.empty()) {
        qos.ownership_strength().value = static_cast<uint32_t>(std::stoul(options.strength));
    }
    qos.writer_data_lifecycle().autodispose_unregistered_instances = options.autodispose;
    // Only the asynchronous mode splits a sample into fragments.
    qos.publish_mode().kind = options.type == "Big" ? ASYNCHRONOUS_PUBLISH_MODE : SYNCHRONOUS_PUBLISH_MODE;
    // The default of 3 s would delay every repair by as much.
    qos.reliable_writer_qos().times.heartbeat_period = eprosima::fastdds::dds::Duration_t(0, 50 * 1000 * 1000);
    DataWriter* writer = publisher->create_datawriter(topic, qos, &listener);
    if (writer == nullptr) {
        std::fprintf(stderr, "peer: the writer was refused\n");
        return kExitFailed;
    }
    if (!options.transient_local) {
        const auto deadline = after(options.timeout_seconds);
        while (listener.matched == 0) {
            if (Clock::now() >= deadline) {
                return kExitIncomplete;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        if (options.gate) {
            // The driver sends a line once the reader has matched too.
            while (std::getchar() != '\n' && !std::feof(stdin)) {
            }
        } else {
            std::this_thread::sleep_for(kSettle);
        }
    }
    Data data = DynamicDataFactory::get_instance()->create_data(type);
    for (uint32_t k = 0; k < options.count; k++) {
        fill(data, options, k);
        if (writer->write(&data) != RETCODE_OK) {
            std::fprintf(stderr, "peer: write %" PRIu32 " failed\n", k);
            return kExitFailed;
        }
        say("{\"wrote\": %" PRIu32 "}", k);
        std::this_thread::sleep_until(after(options.period_seconds));
    }
    if (options.dispose) {
        for (uint32_t k = 0; k < std::min<uint32_t>(3, options.count); k++) {
            fill(data, options, k);
            if (writer->dispose(&data, HANDLE_NIL) != RETCODE_OK) {
                std::fprintf(stderr, "peer: dispose %" PRIu32 " failed\n", k);
                return kExitFailed;
            }
            say("{\"disposing\": %" PRIu32 "}", k);
        }
    }
    std::this_thread::sleep_until(after(options.linger_seconds));
    if (options.autodispose) {
        for (uint32_t k = 0; k < std::min<uint32_t>(3, options.count); k++) {
            fill(data, options, k);
            if (writer->unregister_instance(&data, HANDLE_NIL) != RETCODE_OK) {
                std::fprintf(stderr, "peer: unregistering %" PRIu32 " failed\n", k);
                return kExitFailed;
            }
        }
        std::this_thread::sleep_for(kSettle);
    }
    return 0;
}

int subscribe(const Options& options, DomainParticipant* participant, Topic* topic, const Type& type)
{
    SubscriberQos group;
    for (const auto& partition : options.partitions) {
        group.partition().push_back(partition.c_str());
    }
    Subscriber* subscriber = participant->create_subscriber(group);
    DataReaderQos qos;
    endpoint_qos(qos, options);
    if (!options.group.empty()) {
        const auto colon = options.group.find(':');
        if (colon == std::string::npos) usage("--group is ADDRESS:PORT");
        eprosima::fastdds::rtps::Locator_t locator;
        eprosima::fastdds::rtps::IPLocator::setIPv4(locator, options.group.substr(0, colon));
        locator.port = static_cast<uint32_t>(std::stoul(options.group.substr(colon + 1)));
        qos.endpoint().multicast_locator_list.push_back(locator);
    }
    static ReaderListener listener;
    DataReader* reader = subscriber->create_datareader(topic, qos, &listener);
    if (reader == nullptr) {
        std::fprintf(stderr, "peer: the reader was refused\n");
        return kExitFailed;
    }
    Data data = DynamicDataFactory::get_instance()->create_data(type);
    // A disposed sample carries only the instance handle here, so its key is remembered from valid samples.
    std::map<InstanceHandle_t, uint32_t> keys;
    std::set<uint32_t> disposed;
    uint32_t received = 0;
    const uint32_t disposed_wanted = options.dispose ? std::min<uint32_t>(3, options.count) : 0;
    const auto deadline = after(options.timeout_seconds);
    SampleInfo info;
    while (received < options.count || disposed.size() < disposed_wanted) {
        if (reader->take_next_sample(&data, &info) != RETCODE_OK) {
            if (Clock::now() >= deadline) {
                return kExitIncomplete;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
            continue;
        }
        if (info.valid_data) {
            received++;
            keys[info.instance_handle] = number(data, "id");
            print_sample(data, options);
        } else if (info.instance_state == NOT_ALIVE_DISPOSED_INSTANCE_STATE) {
            const auto key = keys.find(info.instance_handle);
            if (key == keys.end()) {
                say("{\"disposed\": null}");
            } else {
                disposed.insert(key->second);
                say("{\"disposed\": %" PRIu32 "}", key->second);
            }
        }
    }
    return 0;
}

DomainParticipant* create_participant(const Options& options)
{
    DomainParticipantQos qos;
    auto udp = std::make_shared<UDPv4TransportDescriptor>();
    udp->sendBufferSize = 4 << 20;
    udp->receiveBufferSize = 4 << 20;
    qos.transport().use_builtin_transports = false;
    qos.transport().user_transports.push_back(udp);
    return DomainParticipantFactory::get_instance()->create_participant(options.domain, qos);
}

} // namespace

int main(int argc, char** argv)
{
    const Options options = parse(argc, argv);
    // Setup puts types.xml beside the program.
    const std::string types = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "types.xml";
    auto* factory = DomainParticipantFactory::get_instance();
    if (factory->load_XML_profiles_file(types) != RETCODE_OK) {
        std::fprintf(stderr, "peer: cannot load the types of %s\n", types.c_str());
        return kExitFailed;
    }
    const std::string name = options.type == "Item" ? "bench::Item" : "bench::Plain";
    DynamicTypeBuilder::_ref_type builder;
    if (factory->get_dynamic_type_builder_from_xml_by_name(name, builder) != RETCODE_OK) {
        std::fprintf(stderr, "peer: no type %s in %s\n", name.c_str(), types.c_str());
        return kExitFailed;
    }
    const Type type = builder->build();
    DomainParticipant* participant = create_participant(options);
    if (participant == nullptr) {
        std::fprintf(stderr, "peer: no participant\n");
        return kExitFailed;
    }
    TypeSupport support(new DynamicPubSubType(type));
    support.register_type(participant);
    Topic* topic = participant->create_topic(options.topic, support.get_type_name(), TOPIC_QOS_DEFAULT);
    const int code = options.publisher ? publish(options, participant, topic, type)
                                       : subscribe(options, participant, topic, type);
    // Leaves without teardown of the static factories, whose order with the listener threads is not ours; the
    // participant's departure must still be announced.
    participant->delete_contained_entities();
    factory->delete_participant(participant);
    std::fflush(stdout);
    std::_Exit(code);
}
