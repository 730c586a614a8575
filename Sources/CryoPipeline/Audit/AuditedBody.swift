// The beginning of a body as the audit keeps it.
// Domain: worker

struct AuditedBody {
    private(set) var bytes: [UInt8] = []
    private(set) var isCut = false

    mutating func take(_ more: UnsafeRawBufferPointer, bytesMax: Int) {
        let room = bytesMax - bytes.count
        if more.count > room { isCut = true }
        if room > 0 { bytes.append(contentsOf: more.prefix(room)) }
    }
}
