// The fuzz targets by name. Each one feeds bytes to a parser and checks properties, not only that nothing traps; the same functions run
// under libFuzzer (scripts/fuzz) and over the corpora in the ordinary tests.
// Domain: pure

package enum FuzzTarget: String, CaseIterable, Sendable {
    /// The request parser: what was cut out of the stream does not depend on how it arrived, and says the same when written again.
    case requestHead = "request-head"
    /// The chunked coding: splits change nothing, decoding undoes encoding.
    case chunked
    /// Response heads: what passes can be delimited and holds nothing that could end a line early; splits change nothing.
    case responseHead = "response-head"
    /// Targets and routes: no accepted path leaves its route's prefix once somebody decodes it.
    case routing
    /// JSON and envelopes: accepted exactly when RFC 8259 says so; parts that are cut out are JSON themselves.
    case json
    /// Configuration files: problems or a configuration, and what is printed reads back.
    case yaml
    /// Event streams and JSON lines: splits change nothing, and a second, plain parser finds the same.
    case streams

    /// What property these bytes break, or nil. Never traps.
    package func complaint(about bytes: UnsafeRawBufferPointer) -> String? {
        do {
            switch self {
            case .requestHead: try fuzzRequestHead(bytes)
            case .chunked: try fuzzChunked(bytes)
            case .responseHead: try fuzzResponseHead(bytes)
            case .routing: try fuzzRouting(bytes)
            case .json: try fuzzJSON(bytes)
            case .yaml: try fuzzYAML(bytes)
            case .streams: try fuzzStreams(bytes)
            }
            return nil
        } catch {
            return error.property
        }
    }
}

struct Broken: Error {
    let property: String
}

func claim(_ isTrue: Bool, _ property: @autoclosure () -> String) throws(Broken) {
    if !isTrue { throw Broken(property: property()) }
}
