// Step audit: what a record tells about a stream.
// Domain: worker

import CryoJSON

extension Exchange {
    /// Nothing for answers that are no streams.
    func appendStream(_ writer: inout JSONWriter) {
        guard let stream else { return }
        writer.key("stream")
        writer.beginObject()
        writer.field("type", stream.kind.rawValue)
        writer.field("bytes", Int64(clamping: stream.bytesCount))
        if stream.isRead {
            appendEvents(of: stream, &writer)
        } else {
            stream.coding.withUnsafeBytes { writer.field("coding", bytes: $0) }
            writer.nullField("events")
        }
        writer.endObject()
    }

    private func appendEvents(of stream: StreamRelay, _ writer: inout JSONWriter) {
        writer.field("events", Int64(clamping: stream.eventsCount))
        if stream.eventsCount > 0 {
            writer.field("first_event_us", microseconds(to: stream.firstEventAt))
            writer.field("last_event_us", microseconds(to: stream.lastEventAt))
            writer.field("largest_gap_us", Int64(clamping: stream.largestGap / 1000))
        }
        if !stream.lastEventID.isEmpty { stream.lastEventID.withUnsafeBytes { writer.field("last_event_id", bytes: $0) } }
        if stream.isIncomplete { writer.field("incomplete", true) }
        if stream.heartbeatsCount > 0 { writer.field("heartbeats", Int64(clamping: stream.heartbeatsCount)) }
        if stream.resumesCount > 0 { writer.field("resumed", Int64(clamping: stream.resumesCount)) }
        if stream.hasErrorEvent { writer.field("error_event", true) }
    }

    private func microseconds(to time: UInt64) -> Int64 {
        time > context.startNanoseconds ? Int64(clamping: (time - context.startNanoseconds) / 1000) : 0
    }
}
