// The beginning of every request that is written here: in the lane and for a tunnel.
// Domain: pure

import CryoHTTP
import CryoPipeline

extension HeadWriter {
    /// Room for the whole head, framing and Connection fields included.
    static func bytesMax(of request: borrowing AttemptRequest) -> Int {
        request.method.count + request.target.count + request.fields.wireBytesMax + ownBytes
    }

    /// The request line and the fields (RFC 9112 §3).
    mutating func appendRequest(_ request: borrowing AttemptRequest) {
        append(request.method)
        append(" ")
        append(request.target)
        append(" HTTP/1.1\r\n")
        appendFields(request.fields)
    }
}
