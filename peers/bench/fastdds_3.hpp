// What the bench needs of Fast DDS 3.2 alone: its headers and the type's serialisation.
#pragma once

#include <fastcdr/Cdr.h>
#include <fastcdr/FastBuffer.h>
#include <fastdds/LibrarySettings.hpp>
#include <fastdds/config.hpp>
#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/DataWriterListener.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <fastdds/dds/topic/TypeSupport.hpp>
#include <fastdds/rtps/transport/TCPv4TransportDescriptor.hpp>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.hpp>
#include <fastdds/rtps/transport/shared_mem/SharedMemTransportDescriptor.hpp>
#include <fastdds/utils/IPLocator.hpp>

#include <cstdint>
#include <vector>

using eprosima::fastdds::rtps::InstanceHandle_t;
using eprosima::fastdds::rtps::IPLocator;
using eprosima::fastdds::rtps::Locator_t;
using eprosima::fastdds::rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
using eprosima::fastdds::rtps::SerializedPayload_t;

constexpr char VERSION[] = FASTDDS_VERSION_STR;
// Fast DDS 2 says yes, Fast DDS 3 a code that is zero.
inline bool wrote(eprosima::fastdds::dds::ReturnCode_t code) { return code == 0; }
constexpr auto IS_OK = eprosima::fastdds::dds::RETCODE_OK;

struct Message {
    uint32_t id = 0;
    uint32_t seq = 0;
    std::vector<uint8_t> data;
};

inline void switch_intraprocess_off() {
    eprosima::fastdds::LibrarySettings settings;
    settings.intraprocess_delivery = eprosima::fastdds::INTRAPROCESS_OFF;
    eprosima::fastdds::dds::DomainParticipantFactory::get_instance()->set_library_settings(settings);
}

class MessageType : public eprosima::fastdds::dds::TopicDataType {
    using Cdr = eprosima::fastcdr::Cdr;
    using Representation = eprosima::fastdds::dds::DataRepresentationId_t;

    static constexpr auto PLAIN = eprosima::fastcdr::CdrVersion::XCDRv1;

public:
    explicit MessageType(uint32_t payload) {
        set_name("bench::Msg");
        max_serialized_type_size = payload + 64;
        is_compute_key_provided = false;
    }

    bool serialize(const void* const data, SerializedPayload_t& payload, Representation) override {
        const auto* message = static_cast<const Message*>(data);
        eprosima::fastcdr::FastBuffer buffer(reinterpret_cast<char*>(payload.data), payload.max_size);
        Cdr cdr(buffer, Cdr::DEFAULT_ENDIAN, PLAIN);
        payload.encapsulation = cdr.endianness() == Cdr::BIG_ENDIANNESS ? CDR_BE : CDR_LE;
        cdr.set_encoding_flag(eprosima::fastcdr::EncodingAlgorithmFlag::PLAIN_CDR);
        try {
            cdr.serialize_encapsulation();
            cdr << message->id << message->seq << message->data;
            cdr.set_dds_cdr_options({0, 0});
        } catch (const eprosima::fastcdr::exception::Exception&) {
            return false;
        }
        payload.length = static_cast<uint32_t>(cdr.get_serialized_data_length());
        return true;
    }

    bool deserialize(SerializedPayload_t& payload, void* data) override {
        auto* message = static_cast<Message*>(data);
        eprosima::fastcdr::FastBuffer buffer(reinterpret_cast<char*>(payload.data), payload.length);
        Cdr cdr(buffer, Cdr::DEFAULT_ENDIAN, PLAIN);
        try {
            cdr.read_encapsulation();
            payload.encapsulation = cdr.endianness() == Cdr::BIG_ENDIANNESS ? CDR_BE : CDR_LE;
            cdr >> message->id >> message->seq >> message->data;
        } catch (const eprosima::fastcdr::exception::Exception&) {
            return false;
        }
        return true;
    }

    uint32_t calculate_serialized_size(const void* const data, Representation) override {
        return static_cast<uint32_t>(16 + static_cast<const Message*>(data)->data.size());
    }

    void* create_data() override { return new Message(); }
    void delete_data(void* data) override { delete static_cast<Message*>(data); }
    bool compute_key(SerializedPayload_t&, InstanceHandle_t&, bool) override { return false; }
    bool compute_key(const void* const, InstanceHandle_t&, bool) override { return false; }
};
