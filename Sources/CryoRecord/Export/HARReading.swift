// Reads the entries of an HTTP archive (HAR 1.2) as records: those of our own exports, and those of browsers and other tools.
// Domain: pure

import CryoJSON

package enum HARReading {
    /// An archive's entries as lines of audit records, as far as an entry tells; nil: it is no archive. An entry of another tool has no
    /// route and no outcome, and its number for an id. A body in base64 is none.
    package static func lines(_ archive: [UInt8]) -> [[UInt8]]? {
        let isJSON = Padded.withPadding(archive) { JSONScanner(bytesMax: max($0.count, 1)).validate($0) == .scanned }
        guard isJSON else { return nil }
        return archive.withUnsafeBytes { bytes in
            let root = members(of: JSONCursor.root(bytes), bytes)
            guard let log = root["log"], let entries = members(of: log, bytes)["entries"], entries.kind == .array else { return nil }
            var cursor = JSONCursor(bytes, inside: entries)
            var lines: [[UInt8]] = []
            while let entry = cursor.element() { lines.append(line(members(of: entry, bytes), lines.count + 1, bytes)) }
            return lines
        }
    }

    private typealias Members = [String: JSONSlice]

    private static func members(of slice: JSONSlice?, _ bytes: UnsafeRawBufferPointer) -> Members {
        guard let slice, slice.kind == .object else { return [:] }
        var cursor = JSONCursor(bytes, inside: slice)
        let reader = JSONValueReader(bytes)
        var members: Members = [:]
        while let (key, value) = cursor.member() { members[String(decoding: reader.stringBytes(key), as: UTF8.self)] = value }
        return members
    }

    private static func line(_ entry: Members, _ number: Int, _ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        let request = members(of: entry["request"], bytes)
        let response = members(of: entry["response"], bytes)
        let content = members(of: response["content"], bytes)
        let own = members(of: entry["_cryonet"], bytes)
        var writer = JSONWriter()
        func copy(_ name: String, _ value: JSONSlice?) {
            guard let value, value.kind != .missing else { return }
            writer.key(name)
            writer.raw(UnsafeRawBufferPointer(rebasing: bytes[value.range]))
        }
        writer.beginObject()
        if own["id"]?.kind != .string { writer.field("id", "entry-\(number)") }
        for (name, value) in own.sorted(by: { $0.key < $1.key }) { copy(name, value) }
        copy("time", entry["startedDateTime"])
        copy("method", request["method"])
        copy("target", request["url"])
        copy("status", response["status"])
        writer.key("response_headers")
        writer.beginArray()
        if let type = content["mimeType"], type.kind == .string {
            writer.beginArray()
            writer.string("Content-Type" as StaticString)
            writer.raw(UnsafeRawBufferPointer(rebasing: bytes[type.range]))
            writer.endArray()
        }
        writer.endArray()
        if content["encoding"] == nil { copy("response_body", content["text"]) }
        // Our own export says it in words.
        if let comment = content["comment"], JSONValueReader(bytes).stringBytes(comment).starts(with: "cut".utf8) {
            writer.field("response_body_truncated", true)
        }
        writer.endObject()
        return writer.bytes
    }
}
