// The Host that the last request of a connection was admitted with, so that the same words are not judged anew.
// Domain: worker

import CryoHTTP

/// Whether a Host is our own follows from its bytes and the plan's list of hosts, and from nothing else.
struct AdmittedHost {
    private var host: [UInt8] = []
    private var serial: UInt64 = 0
    /// Longer ones are judged each time.
    private static let bytesMax = 64

    /// True: exactly these bytes were admitted by this plan before.
    func isHost(of head: RequestHead, for plan: PipelinePlan) -> Bool {
        guard serial == plan.serial, let named = head.host else { return false }
        return head.fields.bytes.withUnsafeBytes { equals(UnsafeRawBufferPointer(rebasing: $0[named]), host) }
    }

    /// The plan has admitted the request by its Host.
    mutating func note(_ head: RequestHead, for plan: PipelinePlan) {
        // Another form of target has its own authority, which was judged instead.
        guard case .origin = head.targetForm, let named = head.host, named.count <= Self.bytesMax else { return }
        host.removeAll(keepingCapacity: true)
        head.fields.bytes.withUnsafeBytes { host.append(contentsOf: UnsafeRawBufferPointer(rebasing: $0[named])) }
        serial = plan.serial
    }
}
