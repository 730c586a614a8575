// What a worker lends to all its exchanges: the ports, and memory that one after the other uses.
// Domain: worker

import CryoHTTP
package import CryoJSON

/// What a worker lends to all its exchanges.
package final class ExchangeEnvironment {
    package let forwarder: any Forwarder
    package let scanner: JSONScanner
    package let openSpill: () -> SpillFile?
    /// Removes the codings a Content-Encoding names from a whole body, up to that many bytes.
    package let decode: (_ body: UnsafeRawBufferPointer, _ contentEncoding: UnsafeRawBufferPointer, _ bytesMax: Int) -> DecodedContent
    /// Reads the content of a body that passes; nil where it has no coding, or one that nobody here knows.
    package let makeContentReader: (_ contentEncoding: UnsafeRawBufferPointer) -> (any ContentReading)?
    package let counters: ExchangeCounters
    /// This process's name in Via. Unlike those of other gateways on the way, so that only a true loop is taken for one.
    package let pseudonym: [UInt8]
    /// Begins the digest of a body for the audit.
    package let makeDigest: () -> (any BodyDigest)?
    let scratch = AuditScratch()
    private var plan: PipelinePlan?
    private var planReload: UInt64 = 0
    private var requestMemory = RequestMemory()
    private var replyFields = FieldSection()
    private var heldBytes: [UInt8] = []

    package init(
        forwarder: any Forwarder, scanner: JSONScanner, openSpill: @escaping () -> SpillFile?,
        decode: @escaping (UnsafeRawBufferPointer, UnsafeRawBufferPointer, Int) -> DecodedContent, counters: ExchangeCounters,
        pseudonym: [UInt8] = Array("cryonet".utf8), makeDigest: @escaping () -> (any BodyDigest)? = { nil },
        makeContentReader: @escaping (UnsafeRawBufferPointer) -> (any ContentReading)? = { _ in nil }
    ) {
        self.forwarder = forwarder
        self.scanner = scanner
        self.openSpill = openSpill
        self.decode = decode
        self.counters = counters
        self.pseudonym = pseudonym
        self.makeDigest = makeDigest
        self.makeContentReader = makeContentReader
    }

    func appendVia(_ fields: inout FieldSection, minorVersion: UInt8?) {
        CryoHTTP.appendVia(&fields, minorVersion: minorVersion, pseudonym: pseudonym)
    }

    // MARK: The plan

    /// The plan remembered of that reload; nil: another has come since.
    package func plan(of reload: UInt64) -> PipelinePlan? { reload == planReload ? plan : nil }

    package func remember(_ plan: PipelinePlan, of reload: UInt64) {
        self.plan = plan
        planReload = reload
    }

    package func forgetPlan() { plan = nil }

    // MARK: Memory

    /// Larger pieces of memory are not kept from one exchange to the next.
    static let keptBytesMax = 65_536
    /// A judged body of 64 KiB still fits.
    static let keptHeldBytesMax = 131_072

    /// Exchanges the memory of a request, which is nobody's between two attempts: before the request is written, and when it has gone out.
    func swapMemory(with request: inout AttemptRequest) {
        swap(&request.method, &requestMemory.method)
        swap(&request.target, &requestMemory.target)
        swap(&request.fields, &requestMemory.fields)
        if requestMemory.target.capacity > Self.keptBytesMax || requestMemory.fields.bytes.capacity > Self.keptBytesMax {
            requestMemory = RequestMemory()
        }
    }

    /// For the first bytes of a body that is held back.
    func lendHeld(_ bytes: inout [UInt8]) { if bytes.capacity == 0 { swap(&bytes, &heldBytes) } }

    /// The exchange is over. What another still holds is nobody's to write into, and makes way for new memory by itself.
    func keepHeld(_ bytes: inout [UInt8]) {
        guard bytes.capacity <= Self.keptHeldBytesMax else { return }
        bytes.removeAll(keepingCapacity: true)
        swap(&bytes, &heldBytes)
    }

    /// A copy of the fields of an answer, which can be changed for the client.
    func takeReplyFields(_ fields: borrowing FieldSection) -> FieldSection {
        var copy = FieldSection()
        swap(&copy, &replyFields)
        copy.take(fields, reservingBytes: 256, lines: 6)
        return copy
    }

    /// The client has its head: the next one may use the memory.
    func keep(_ fields: inout FieldSection) { if fields.bytes.capacity <= Self.keptBytesMax { swap(&fields, &replyFields) } }
}

/// The parts of a request that grow with it.
private struct RequestMemory {
    var method: [UInt8] = []
    var target: [UInt8] = []
    var fields = FieldSection()
}
