// Fast DDS peer of the interoperability matrix: one publisher or one subscriber on the shared command line.
//
// The command line, the samples and the JSON lines are described in peers/README.md. The types come from types.xml
// as dynamic types, so neither generated code nor Java is needed. Written for Fast DDS 2.9 (Debian 12).

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
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>
#include <fastdds/rtps/transport/UDPv6TransportDescriptor.h>
#include <fastrtps/utils/IPLocator.h>
#include <fastrtps/types/DynamicDataFactory.h>
#include <fastrtps/types/DynamicPubSubType.h>
#include <fastrtps/types/DynamicType.h>
#include <fastrtps/types/DynamicTypeBuilder.h>
#include <fastrtps/xmlparser/XMLProfileManager.h>

#include "command_line.hpp"

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>

using namespace eprosima::fastdds::dds;
using eprosima::fastdds::rtps::UDPTransportDescriptor;
using eprosima::fastdds::rtps::UDPv4TransportDescriptor;
using eprosima::fastdds::rtps::UDPv6TransportDescriptor;
using eprosima::fastrtps::types::DynamicData;
using eprosima::fastrtps::types::DynamicDataFactory;
using eprosima::fastrtps::types::DynamicPubSubType;
using eprosima::fastrtps::types::MemberId;
using eprosima::fastrtps::xmlparser::XMLP_ret;
using eprosima::fastrtps::xmlparser::XMLProfileManager;

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

uint32_t key_of(DynamicData* data)
{
    return data->get_uint32_value(data->get_member_id_by_name("id"));
}

// The matrix's type as declared in XML, with its key.
//
// Fast DDS 2.9 loses the attribute key="true" of an XML type (its issue 2203), so the topic would be keyless and match
// no keyed endpoint. The key hash is written here as the standard has it: the key's big-endian CDR, padded with zeros.
struct MatrixType : DynamicPubSubType {
    explicit MatrixType(const std::string& name)
        : DynamicPubSubType(XMLProfileManager::getDynamicTypeByName(name)->build())
    {
        m_isGetKeyDefined = name == "bench::Item";
    }

    bool getKey(void* data, eprosima::fastrtps::rtps::InstanceHandle_t* handle, bool) override
    {
        if (!m_isGetKeyDefined) {
            return false;
        }
        const uint32_t key = key_of(static_cast<DynamicData*>(data));
        for (int i = 0; i < 16; i++) {
            handle->value[i] = i < 4 ? static_cast<uint8_t>(key >> (24 - 8 * i)) : 0;
        }
        return true;
    }
};

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
    // With the DYNAMIC memory modes Fast DDS 2.9 drops samples without a payload, that is disposals.
    qos.endpoint().history_memory_policy = eprosima::fastrtps::rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
    qos.data_sharing().off();
    if (options.deadline_seconds > 0) {
        qos.deadline().period = eprosima::fastrtps::Duration_t(options.deadline_seconds);
    }
    if (options.lifespan_seconds > 0) {
        qos.lifespan().duration = eprosima::fastrtps::Duration_t(options.lifespan_seconds);
    }
    if (!options.strength.empty()) {
        qos.ownership().kind = EXCLUSIVE_OWNERSHIP_QOS;
    }
    if (options.lease_seconds > 0) {
        qos.liveliness().kind = AUTOMATIC_LIVELINESS_QOS;
        qos.liveliness().lease_duration = eprosima::fastrtps::Duration_t(options.lease_seconds);
        qos.liveliness().announcement_period = eprosima::fastrtps::Duration_t(options.lease_seconds / 3);
    }
}

void fill(DynamicData* data, const Options& options, uint32_t k)
{
    if (options.type == "Item") {
        data->set_uint32_value(k % 3, data->get_member_id_by_name("id"));
        data->set_float64_value(1.5 * k, data->get_member_id_by_name("value"));
        data->set_string_value("fastdds-" + std::to_string(k), data->get_member_id_by_name("name"));
        DynamicData* arr = data->loan_value(data->get_member_id_by_name("arr"));
        arr->clear_all_values();
        for (uint32_t v = 1; v <= 3; v++) {
            MemberId id;
            arr->insert_uint32_value(v, id);
        }
        data->return_loaned_value(arr);
        return;
    }
    data->set_uint32_value(7, data->get_member_id_by_name("id"));
    data->set_uint32_value(k, data->get_member_id_by_name("seq"));
    const uint32_t length = options.type == "Big" ? 200000 : 64;
    DynamicData* bytes = data->loan_value(data->get_member_id_by_name("data"));
    // Inserting is slow in a dynamic sequence (8 us an element), so the elements of the first sample are reused.
    while (bytes->get_item_count() < length) {
        MemberId id;
        bytes->insert_byte_value(0, id);
    }
    for (uint32_t j = 0; j < length; j++) {
        bytes->set_byte_value(static_cast<uint8_t>((j + k) % 251), j);
    }
    data->return_loaned_value(bytes);
}

void print_sample(DynamicData* data, const Options& options)
{
    if (options.type == "Item") {
        DynamicData* arr = data->loan_value(data->get_member_id_by_name("arr"));
        std::string list;
        for (uint32_t i = 0; i < arr->get_item_count(); i++) {
            list += (i ? ", " : "") + std::to_string(arr->get_uint32_value(i));
        }
        data->return_loaned_value(arr);
        const std::string name = data->get_string_value(data->get_member_id_by_name("name"));
        say("{\"id\": %" PRIu32 ", \"value\": %.17g, \"name\": \"%s\", \"arr\": [%s], \"state\": \"alive\"}", key_of(data),
                data->get_float64_value(data->get_member_id_by_name("value")), escape(name).c_str(), list.c_str());
        return;
    }
    DynamicData* bytes = data->loan_value(data->get_member_id_by_name("data"));
    const uint32_t length = bytes->get_item_count();
    uint32_t checksum = 0;
    for (uint32_t i = 0; i < length; i++) {
        checksum += bytes->get_byte_value(i);
    }
    data->return_loaned_value(bytes);
    say("{\"id\": %" PRIu32 ", \"seq\": %" PRIu32 ", \"length\": %" PRIu32 ", \"checksum\": %" PRIu32 ", \"state\": \"alive\"}",
            key_of(data), data->get_uint32_value(data->get_member_id_by_name("seq")), length, checksum);
}

int publish(const Options& options, DomainParticipant* participant, Topic* topic, DynamicPubSubType& type)
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
    qos.reliable_writer_qos().times.heartbeatPeriod = eprosima::fastrtps::Duration_t(0, 50 * 1000 * 1000);
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
    auto* data = static_cast<DynamicData*>(type.createData());
    for (uint32_t k = 0; k < options.count; k++) {
        fill(data, options, k);
        if (!writer->write(data)) {
            std::fprintf(stderr, "peer: write %" PRIu32 " failed\n", k);
            return kExitFailed;
        }
        say("{\"wrote\": %" PRIu32 "}", k);
        std::this_thread::sleep_until(after(options.period_seconds));
    }
    if (options.dispose) {
        for (uint32_t k = 0; k < std::min<uint32_t>(3, options.count); k++) {
            fill(data, options, k);
            if (writer->dispose(data, HANDLE_NIL) != ReturnCode_t::RETCODE_OK) {
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
            if (writer->unregister_instance(data, HANDLE_NIL) != ReturnCode_t::RETCODE_OK) {
                std::fprintf(stderr, "peer: unregistering %" PRIu32 " failed\n", k);
                return kExitFailed;
            }
        }
        std::this_thread::sleep_for(kSettle);
    }
    return 0;
}

int subscribe(const Options& options, DomainParticipant* participant, Topic* topic, DynamicPubSubType& type)
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
        eprosima::fastrtps::rtps::Locator_t locator;
        eprosima::fastrtps::rtps::IPLocator::setIPv4(locator, options.group.substr(0, colon));
        locator.port = static_cast<uint32_t>(std::stoul(options.group.substr(colon + 1)));
        qos.endpoint().multicast_locator_list.push_back(locator);
    }
    static ReaderListener listener;
    DataReader* reader = subscriber->create_datareader(topic, qos, &listener);
    if (reader == nullptr) {
        std::fprintf(stderr, "peer: the reader was refused\n");
        return kExitFailed;
    }
    auto* data = static_cast<DynamicData*>(type.createData());
    // A disposed sample carries only the instance handle here, so its key is remembered from valid samples.
    std::map<InstanceHandle_t, uint32_t> keys;
    std::set<uint32_t> disposed;
    uint32_t received = 0;
    const uint32_t disposed_wanted = options.dispose ? std::min<uint32_t>(3, options.count) : 0;
    const auto deadline = after(options.timeout_seconds);
    SampleInfo info;
    while (received < options.count || disposed.size() < disposed_wanted) {
        if (reader->take_next_sample(data, &info) != ReturnCode_t::RETCODE_OK) {
            if (Clock::now() >= deadline) {
                return kExitIncomplete;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
            continue;
        }
        if (info.valid_data) {
            received++;
            keys[info.instance_handle] = key_of(data);
            print_sample(data, options);
        } else if (info.instance_state == NOT_ALIVE_DISPOSED_INSTANCE_STATE) {
            const auto key = keys.find(info.instance_handle);
            if (key == keys.end()) {
                std::string hash;
                for (int i = 0; i < 16; i++) {
                    char digits[3];
                    std::snprintf(digits, sizeof digits, "%02x", info.instance_handle.value[i]);
                    hash += digits;
                }
                say("{\"disposed\": null, \"handle\": \"%s\"}", hash.c_str());
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
    std::shared_ptr<UDPTransportDescriptor> udp = std::make_shared<UDPv4TransportDescriptor>();
    if (options.ipv6) udp = std::make_shared<UDPv6TransportDescriptor>();
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
    if (XMLProfileManager::loadXMLFile(types) != XMLP_ret::XML_OK) {
        std::fprintf(stderr, "peer: cannot load the types of %s\n", types.c_str());
        return kExitFailed;
    }
    const std::string name = options.type == "Item" ? "bench::Item" : "bench::Plain";
    if (XMLProfileManager::getDynamicTypeByName(name) == nullptr) {
        std::fprintf(stderr, "peer: no type %s in %s\n", name.c_str(), types.c_str());
        return kExitFailed;
    }
    auto* dynamic = new MatrixType(name);
    DomainParticipant* participant = create_participant(options);
    if (participant == nullptr) {
        std::fprintf(stderr, "peer: no participant\n");
        return kExitFailed;
    }
    // Cyclone DDS 11 refuses endpoints whose type information comes from a dynamic type of Fast DDS 2.9, so it is
    // announced only on request; then everybody matches by type name.
    dynamic->auto_fill_type_object(options.type_information);
    dynamic->auto_fill_type_information(options.type_information);
    TypeSupport support(dynamic);
    support.register_type(participant);
    Topic* topic = participant->create_topic(options.topic, name, TOPIC_QOS_DEFAULT);
    const int code = options.publisher ? publish(options, participant, topic, *dynamic)
                                       : subscribe(options, participant, topic, *dynamic);
    // Leaves without teardown of the static factories, whose order with the listener threads is not ours; the
    // participant's departure must still be announced.
    participant->delete_contained_entities();
    DomainParticipantFactory::get_instance()->delete_participant(participant);
    std::fflush(stdout);
    std::_Exit(code);
}
