// What the configuration says about traces and timings that others can see.
// Domain: pure

package struct TracingSettings: Sendable, Equatable {
    package enum Traceparent: String, Sendable, CaseIterable {
        /// The client's goes to the upstream as it is.
        case pass
        /// The gateway is a part of the client's trace: the upstream gets the gateway's own id as its parent.
        case join
        /// As `join`; a request without a trace, or with a broken one, begins one.
        case make
    }
    package var traceparent = Traceparent.pass
    /// Tells the client in `Server-Timing` where the time went.
    package var tellsTiming = false
    /// A file for what happens inside exchanges, `-` for standard output; nil: nobody writes it down.
    package var eventsFile: String?

    package init() {}
}
