// Who gets the events of an attempt. The exchange does; a test may stand in for it.
// Domain: worker

package import CryoHTTP
package import CryoPipeline

/// The events come on the worker, outside libcurl, except the two request body calls, which come from inside its callbacks.
package protocol AttemptReceiver: AnyObject {
    func attemptReceivedHead(_ id: AttemptID, _ head: ResponseHead, framing: BodyFraming)
    func attemptReceivedBody(_ id: AttemptID, _ bytes: UnsafeRawBufferPointer) -> Flow
    /// The upstream's side of a tunnel has ended. Bytes of the client are still taken.
    func attemptReceivedTunnelEnd(_ id: AttemptID)
    func attemptEnded(_ id: AttemptID, _ timing: AttemptTiming)
    func attemptFailed(_ id: AttemptID, _ error: ForwardError, _ timing: AttemptTiming)
    /// Copies; may be called while libcurl runs.
    func readRequestBody(_ id: AttemptID, into buffer: UnsafeMutableRawBufferPointer) -> RequestBodyRead
    /// May be called while libcurl runs.
    func rewindRequestBody(_ id: AttemptID) -> Bool
}

extension Exchange: AttemptReceiver {}
