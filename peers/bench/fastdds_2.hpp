// What the bench needs of Fast DDS 2.9 alone: its headers and the type's serialisation.
#pragma once

#include <fastcdr/Cdr.h>
#include <fastcdr/FastBuffer.h>
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
#include <fastdds/rtps/transport/TCPv4TransportDescriptor.h>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>
#include <fastdds/rtps/transport/shared_mem/SharedMemTransportDescriptor.h>
#include <fastrtps/config.h>
#include <fastrtps/utils/IPLocator.h>
#include <fastrtps/xmlparser/XMLProfileManager.h>

#include <cstdint>
#include <vector>

using eprosima::fastrtps::rtps::InstanceHandle_t;
using eprosima::fastrtps::rtps::IPLocator;
using eprosima::fastrtps::rtps::Locator_t;
using eprosima::fastrtps::rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
using eprosima::fastrtps::rtps::SerializedPayload_t;

constexpr char VERSION[] = FASTRTPS_VERSION_STR;
// Fast DDS 2 says yes, Fast DDS 3 a code that is zero.
inline bool wrote(bool is_done) { return is_done; }
constexpr auto IS_OK = eprosima::fastrtps::types::ReturnCode_t::RETCODE_OK;

struct Message {
    uint32_t id = 0;
    uint32_t seq = 0;
    std::vector<uint8_t> data;
};

inline void switch_intraprocess_off() {
    eprosima::fastrtps::LibrarySettingsAttributes settings;
    settings.intraprocess_delivery = eprosima::fastrtps::INTRAPROCESS_OFF;
    eprosima::fastrtps::xmlparser::XMLProfileManager::library_settings(settings);
}

class MessageType : public eprosima::fastdds::dds::TopicDataType {
    using Cdr = eprosima::fastcdr::Cdr;

public:
    explicit MessageType(uint32_t payload) {
        setName("bench::Msg");
        m_typeSize = payload + 64;
        m_isGetKeyDefined = false;
    }

    bool serialize(void* data, SerializedPayload_t* payload) override {
        const auto* message = static_cast<const Message*>(data);
        eprosima::fastcdr::FastBuffer buffer(reinterpret_cast<char*>(payload->data), payload->max_size);
        Cdr cdr(buffer, Cdr::DEFAULT_ENDIAN, Cdr::DDS_CDR);
        payload->encapsulation = cdr.endianness() == Cdr::BIG_ENDIANNESS ? CDR_BE : CDR_LE;
        try {
            cdr.serialize_encapsulation();
            cdr << message->id << message->seq << message->data;
        } catch (const eprosima::fastcdr::exception::Exception&) {
            return false;
        }
        payload->length = static_cast<uint32_t>(cdr.getSerializedDataLength());
        return true;
    }

    bool deserialize(SerializedPayload_t* payload, void* data) override {
        auto* message = static_cast<Message*>(data);
        eprosima::fastcdr::FastBuffer buffer(reinterpret_cast<char*>(payload->data), payload->length);
        Cdr cdr(buffer, Cdr::DEFAULT_ENDIAN, Cdr::DDS_CDR);
        try {
            cdr.read_encapsulation();
            payload->encapsulation = cdr.endianness() == Cdr::BIG_ENDIANNESS ? CDR_BE : CDR_LE;
            cdr >> message->id >> message->seq >> message->data;
        } catch (const eprosima::fastcdr::exception::Exception&) {
            return false;
        }
        return true;
    }

    std::function<uint32_t()> getSerializedSizeProvider(void* data) override {
        const auto* message = static_cast<const Message*>(data);
        return [message] { return static_cast<uint32_t>(16 + message->data.size()); };
    }

    void* createData() override { return new Message(); }
    void deleteData(void* data) override { delete static_cast<Message*>(data); }
    bool getKey(void*, InstanceHandle_t*, bool) override { return false; }
};
