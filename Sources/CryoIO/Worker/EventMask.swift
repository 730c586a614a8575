// The epoll event bits, typed once for everyone who watches a descriptor.
// Domain: pure

import CEpoll

package enum EventMask {
    package static let readable = UInt32(CRYO_EPOLLIN)
    package static let writable = UInt32(CRYO_EPOLLOUT)
    package static let error = UInt32(CRYO_EPOLLERR)
    package static let hangUp = UInt32(CRYO_EPOLLHUP)
    package static let peerClosed = UInt32(CRYO_EPOLLRDHUP)
    /// Report changes, not states.
    package static let edge = UInt32(CRYO_EPOLLET)
}
