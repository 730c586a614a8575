// The request's field lines as libcurl takes them: a list of NUL-terminated strings in memory we own and reuse.
// Domain: worker

import CCurl
import CryoHTTP

/// `curl_slist_append` allocates twice per line; this writes all lines into one block and links nodes of one array over it.
struct RequestLines: ~Copyable {
    private var block = ByteBlock()
    private var nodes: UnsafeMutablePointer<curl_slist>?
    private var nodesMax = 0

    /// libcurl adds these unless the list names them; a name without a value is never sent. A line of the request's own comes
    /// earlier in the list and is found first.
    private static let suppressed: [StaticString] = ["Accept:\0", "Accept-Encoding:\0", "Expect:\0"]

    deinit { nodes?.deallocate() }

    /// The list for `fields`, valid until the next call; nil when memory is short.
    mutating func build(_ fields: FieldSection, announcesEmptyBody: Bool) -> UnsafeMutablePointer<curl_slist>? {
        var size = 0
        for line in fields.lines where !line.isRemoved { size += Int(line.nameCount) + Int(line.valueCount) + 3 }
        block.removeAll()
        guard block.reserve(max(size, 1)), reserveNodes(fields.lines.count + Self.suppressed.count + 1), let nodes else { return nil }
        var count = 0
        fields.bytes.withUnsafeBytes { bytes in
            for line in fields.lines where !line.isRemoved {
                nodes[count].data = write(bytes, line)
                count += 1
            }
        }
        if announcesEmptyBody {
            count = link(nodes, count, "Content-Length: 0\0")
        }
        for line in Self.suppressed { count = link(nodes, count, line) }
        for index in 0..<count - 1 { nodes[index].next = nodes + index + 1 }
        nodes[count - 1].next = nil
        return nodes
    }

    private func link(_ nodes: UnsafeMutablePointer<curl_slist>, _ index: Int, _ line: StaticString) -> Int {
        // libcurl only reads through the pointer, which its type does not say.
        nodes[index].data = UnsafeMutableRawPointer(mutating: line.utf8Start).assumingMemoryBound(to: CChar.self)
        return index + 1
    }

    /// `name: value`, or `name;`, which is how libcurl is told to send a name with an empty value.
    private mutating func write(_ bytes: UnsafeRawBufferPointer, _ line: FieldLine) -> UnsafeMutablePointer<CChar>? {
        let start = block.count
        _ = block.append(UnsafeRawBufferPointer(rebasing: bytes[line.name]))
        if line.valueCount == 0 {
            _ = block.append(0x3B)
        } else {
            _ = block.append(0x3A)
            _ = block.append(0x20)
            _ = block.append(UnsafeRawBufferPointer(rebasing: bytes[line.value]))
        }
        _ = block.append(0)
        return block.base.map { ($0 + start).assumingMemoryBound(to: CChar.self) }
    }

    private mutating func reserveNodes(_ count: Int) -> Bool {
        if count <= nodesMax { return true }
        nodes?.deallocate()
        nodesMax = max(32, count * 2)
        nodes = .allocate(capacity: nodesMax)
        nodes?.initialize(repeating: curl_slist(), count: nodesMax)
        return true
    }
}
