// Owns reading one YAML document with libyaml into a tree of nodes. Refuses what a configuration does not need and what makes
// YAML dangerous: aliases (a small text that unfolds to gigabytes), tags, merge keys, several documents, keys that are not text.
// Domain: cold

import CYAML

package struct YAMLDocument: Sendable {
    package static let bytesMax = 1_048_576
    package static let depthMax = 32

    package struct Problem: Sendable, Equatable {
        package var mark: YAMLMark
        package var message: String
    }

    /// nil when the text is no YAML or says nothing.
    package private(set) var root: YAMLNode?
    package private(set) var problems: [Problem] = []

    package init(_ bytes: [UInt8]) {
        guard bytes.count <= Self.bytesMax else {
            problems = [Problem(mark: YAMLMark(line: 1, column: 1), message: "the file is larger than \(Self.bytesMax) bytes")]
            return
        }
        var reader = YAMLEventReader()
        bytes.withUnsafeBufferPointer { root = reader.read($0) }
        problems = reader.problems
    }
}

/// One pass over the events of libyaml.
private struct YAMLEventReader {
    var problems: [YAMLDocument.Problem] = []

    /// The document cannot be read further; the cause is in `problems`.
    private struct Stopped: Error {}

    mutating func read(_ bytes: UnsafeBufferPointer<UInt8>) -> YAMLNode? {
        // SAFETY: the parser points into itself, so it lives at a fixed address; it is deleted before that is freed, and the
        // bytes outlive it.
        let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
        defer { parser.deallocate() }
        guard yaml_parser_initialize(parser) == 1 else {
            note(YAMLMark(line: 1, column: 1), "out of memory")
            return nil
        }
        defer { yaml_parser_delete(parser) }
        yaml_parser_set_input_string(parser, bytes.baseAddress, bytes.count)
        do {
            return try readStream(parser, bytes)
        } catch {
            return nil
        }
    }

    private mutating func readStream(
        _ parser: UnsafeMutablePointer<yaml_parser_t>, _ bytes: UnsafeBufferPointer<UInt8>
    ) throws(Stopped) -> YAMLNode? {
        var root: YAMLNode?
        var documents = 0
        while true {
            var event = try next(parser, bytes)
            let type = event.type
            let mark = YAMLMark(event.start_mark)
            defer { yaml_event_delete(&event) }
            switch type {
            case YAML_STREAM_END_EVENT:
                return root
            case YAML_DOCUMENT_START_EVENT:
                documents += 1
                if documents > 1 {
                    note(mark, "a configuration is one document")
                    throw Stopped()
                }
            case YAML_STREAM_START_EVENT, YAML_DOCUMENT_END_EVENT:
                break
            default:
                root = try node(from: event, parser, bytes, depth: 1)
            }
        }
    }

    /// The caller deletes the event.
    private mutating func next(
        _ parser: UnsafeMutablePointer<yaml_parser_t>, _ bytes: UnsafeBufferPointer<UInt8>
    ) throws(Stopped) -> yaml_event_t {
        var event = yaml_event_t()
        guard yaml_parser_parse(parser, &event) == 1 else {
            noteSyntaxProblem(parser, bytes)
            throw Stopped()
        }
        return event
    }

    private mutating func node(
        from event: yaml_event_t, _ parser: UnsafeMutablePointer<yaml_parser_t>, _ bytes: UnsafeBufferPointer<UInt8>, depth: Int
    ) throws(Stopped) -> YAMLNode {
        let mark = YAMLMark(event.start_mark)
        guard depth <= YAMLDocument.depthMax else {
            note(mark, "nested deeper than \(YAMLDocument.depthMax) levels")
            throw Stopped()
        }
        switch event.type {
        case YAML_ALIAS_EVENT:
            note(mark, "aliases (*name) are not supported: write the value out, or quote it if it is text")
            return YAMLNode(.scalar(text: "", isPlain: false), .file(mark))
        case YAML_SCALAR_EVENT:
            let scalar = event.data.scalar
            refuse(anchor: scalar.anchor, tag: scalar.tag, at: mark)
            let text = String(decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self)
            return YAMLNode(.scalar(text: text, isPlain: scalar.style == YAML_PLAIN_SCALAR_STYLE), .file(mark))
        case YAML_SEQUENCE_START_EVENT:
            refuse(anchor: event.data.sequence_start.anchor, tag: event.data.sequence_start.tag, at: mark)
            return YAMLNode(.sequence(try items(parser, bytes, depth)), .file(mark))
        default:
            refuse(anchor: event.data.mapping_start.anchor, tag: event.data.mapping_start.tag, at: mark)
            return YAMLNode(.mapping(try entries(parser, bytes, depth)), .file(mark))
        }
    }

    private mutating func items(
        _ parser: UnsafeMutablePointer<yaml_parser_t>, _ bytes: UnsafeBufferPointer<UInt8>, _ depth: Int
    ) throws(Stopped) -> [YAMLNode] {
        var items: [YAMLNode] = []
        while true {
            var event = try next(parser, bytes)
            defer { yaml_event_delete(&event) }
            if event.type == YAML_SEQUENCE_END_EVENT { return items }
            items.append(try node(from: event, parser, bytes, depth: depth + 1))
        }
    }

    private mutating func entries(
        _ parser: UnsafeMutablePointer<yaml_parser_t>, _ bytes: UnsafeBufferPointer<UInt8>, _ depth: Int
    ) throws(Stopped) -> [YAMLEntry] {
        var entries: [YAMLEntry] = []
        var seen: [String: YAMLMark] = [:]
        while true {
            var event = try next(parser, bytes)
            defer { yaml_event_delete(&event) }
            if event.type == YAML_MAPPING_END_EVENT { return entries }
            let mark = YAMLMark(event.start_mark)
            let key = try node(from: event, parser, bytes, depth: depth + 1)
            var valueEvent = try next(parser, bytes)
            defer { yaml_event_delete(&valueEvent) }
            let value = try node(from: valueEvent, parser, bytes, depth: depth + 1)
            guard case .scalar(let name, let isPlain) = key.content else {
                note(mark, "a key must be text")
                continue
            }
            if event.type == YAML_ALIAS_EVENT { continue }
            if name == "<<", isPlain {
                note(mark, "merge keys (<<) are not supported: write the keys out")
            } else if let first = seen[name] {
                note(mark, "duplicate key \(quoted(name)), first on line \(first.line)")
            } else {
                seen[name] = mark
                entries.append(YAMLEntry(key: name, keyOrigin: .file(mark), value: value))
            }
        }
    }

    private mutating func refuse(
        anchor: UnsafeMutablePointer<yaml_char_t>?, tag: UnsafeMutablePointer<yaml_char_t>?, at mark: YAMLMark
    ) {
        if anchor != nil { note(mark, "anchors (&name) are not supported") }
        if tag != nil { note(mark, "tags (!name) are not supported") }
    }

    private mutating func noteSyntaxProblem(_ parser: UnsafeMutablePointer<yaml_parser_t>, _ bytes: UnsafeBufferPointer<UInt8>) {
        let state = parser.pointee
        var message = state.problem.map { String(cString: $0) } ?? "not readable as YAML"
        if let context = state.context { message = "\(String(cString: context)): \(message)" }
        // The byte reader knows an offset only; the others a mark.
        guard state.error == YAML_READER_ERROR else {
            note(YAMLMark(state.problem_mark), message)
            return
        }
        let before = bytes.prefix(state.problem_offset)
        let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        let characters = before[lineStart...].count { $0 & 0xC0 != 0x80 }
        note(YAMLMark(line: before.count { $0 == UInt8(ascii: "\n") } + 1, column: characters + 1), message)
    }

    private mutating func note(_ mark: YAMLMark, _ message: String) {
        problems.append(YAMLDocument.Problem(mark: mark, message: message))
    }
}

extension YAMLMark {
    fileprivate init(_ mark: yaml_mark_t) {
        self.init(line: Int(mark.line) + 1, column: Int(mark.column) + 1)
    }
}
