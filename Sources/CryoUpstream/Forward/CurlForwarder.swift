// The upstream side of one worker: owns the libcurl multi, its sockets, its timer and the transfers.
// Domain: worker

import CCurl
package import CryoIO
package import CryoPipeline
import Glibc

/// The `Forwarder` on libcurl. libcurl is entered from few places only: `drive`, `add`, `release` and `setPause`. While it runs,
/// callbacks note what happened; `settle` tells the exchanges afterwards.
package final class CurlForwarder: Endpoint, Forwarder {
    /// Handles kept for reuse, over all upstreams.
    static let idleTransfersMax = 256
    /// Connections libcurl keeps open between transfers; the oldest is closed above.
    static let pooledConnectionsMax = 256
    /// Distinct upstream settings remembered; reloads make new ones, the oldest is forgotten above.
    static let profilesMax = 64
    /// libcurl's wishes to run at once that are granted within one batch; then other events get their turn.
    static let kicksPerBatchMax = 32
    /// libcurl had no memory to do what was due: it is called again after this.
    static let retryNanoseconds: UInt64 = 10_000_000

    /// nil after `close`.
    private var multi: UnsafeMutableRawPointer?
    var sockets = CurlSocketTable()
    private(set) var profiles: [UpstreamProfile] = []
    /// The one asked for last, which most attempts want again.
    private var latestProfile: UpstreamProfile?
    var transfers: [CurlTransfer?] = []
    var tunnels = CurlTunnelTable()
    /// nil where every attempt is a transfer of libcurl's.
    private var lane: Lane?
    /// Connections of ours that libcurl is still making, by their handle.
    private var connecting: [UnsafeMutableRawPointer: UpstreamConnection] = [:]
    /// For our own connections; its bytes are used up before the next receive.
    let receiveBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: UpstreamProfile.ownReceiveBytes, alignment: 64)
    private var generations: [UInt32] = []
    private var freeSlots: [UInt32] = []
    private var idleCount = 0

    /// Slots of transfers with something to tell.
    var touched: [UInt32] = []
    /// Begun or cancelled while libcurl was running.
    private var pending: [UInt32] = []
    /// Connections of ours that ended while libcurl was running.
    private var ended: [UpstreamConnection] = []
    private(set) var isInLibcurl = false
    var isSettling = false
    /// When libcurl wants to be called; 0: at the end of this batch.
    private var dueAt = UInt64.max
    private var kicksAt: UInt64 = 0
    private var kicks = 0

    /// Throws when libcurl has no memory for it: a forwarder without its callbacks would never hear of an answer.
    /// `usesLane` false: HTTP/1.1 too goes by libcurl's transfers.
    package init(on worker: Worker, usesLane: Bool = CurlGlobal.allowsLane) throws(SystemError) {
        guard CurlGlobal.initialize(), let multi = curl_multi_init() else { throw SystemError("curl_multi_init", code: ENOMEM) }
        self.multi = multi
        super.init(worker: worker)
        guard configure(multi) else {
            curl_multi_cleanup(multi)
            throw SystemError("curl_multi_setopt", code: ENOMEM)
        }
        worker.enrol(self)
        if usesLane { lane = Lane(self) }
    }

    private func configure(_ multi: UnsafeMutableRawPointer) -> Bool {
        // SAFETY: the multi is cleaned up in `close` and never outlives the forwarder.
        let context = Unmanaged.passUnretained(self).toOpaque()
        let hearsOfSockets = cryo_multi_socket_callback(multi) { _, descriptor, what, context, _ in
            if let context { CurlForwarder.from(context).socketWanted(descriptor, what) }
            return 0
        }
        let hearsOfTime = cryo_multi_timer_callback(multi) { _, milliseconds, context in
            if let context { CurlForwarder.from(context).setTimer(milliseconds) }
            return 0
        }
        return hearsOfSockets == CURLM_OK && hearsOfTime == CURLM_OK
            && cryo_multi_pointer(multi, CURLMOPT_SOCKETDATA, context) == CURLM_OK
            && cryo_multi_pointer(multi, CURLMOPT_TIMERDATA, context) == CURLM_OK
            && cryo_multi_long(multi, CURLMOPT_MAXCONNECTS, Self.pooledConnectionsMax) == CURLM_OK
    }

    deinit { receiveBuffer.deallocate() }

    // SAFETY: libcurl hands back the pointer `init` gave it, and the forwarder lives as long as its multi.
    static func from(_ context: UnsafeMutableRawPointer) -> CurlForwarder {
        Unmanaged<CurlForwarder>.fromOpaque(context).takeUnretainedValue()
    }

    /// Attempts not yet ended.
    package var openAttempts: Int { transfers.count - freeSlots.count - idleCount + tunnels.count + (lane?.openAttempts ?? 0) }

    /// Attempts that ever went by the lane.
    package var laneAttempts: UInt64 { lane?.attemptsBegun ?? 0 }

    /// Drops every attempt silently and closes every connection. Nothing may be begun afterwards.
    package func close() {
        for case .some(let transfer) in transfers {
            transfer.receiver = nil
            if transfer.isAdded { curl_multi_remove_handle(multi, transfer.easy) }
            transfer.isAdded = false
        }
        for tunnel in tunnels.all { close(tunnel) }
        lane?.close()
        lane = nil
        disconnectEnded()
        touched.removeAll()
        pending.removeAll()
        // A profile and its idle transfers hold each other.
        for profile in profiles {
            profile.idle.removeAll()
            profile.isCurrent = false
        }
        profiles.removeAll()
        latestProfile = nil
        transfers.removeAll()
        freeSlots.removeAll()
        idleCount = 0
        curl_multi_cleanup(multi)
        multi = nil
        dueAt = .max
        for socket in sockets.all { worker.withdraw(socket) }
        worker.withdraw(self)
    }

    // MARK: From the exchange

    package func begin(_ request: AttemptRequest, for exchange: Exchange) -> AttemptID {
        begin(request, receiver: exchange)
    }

    package func begin(_ request: AttemptRequest, receiver: any AttemptReceiver) -> AttemptID {
        if request.isUpgrade || request.isConnect { return beginTunnel(request, receiver: receiver) }
        let profile = profile(for: request.upstream)
        if let lane, profile.takesLane(at: worker.nanoseconds) { return lane.begin(request, on: profile, receiver: receiver) }
        let transfer = takeTransfer(for: profile)
        if !transfer.prepare(request, for: receiver) {
            transfer.result = CURLE_OUT_OF_MEMORY
            touchLater(transfer)
        } else if isInLibcurl {
            postpone(transfer)
        } else {
            add(transfer)
        }
        return transfer.id
    }

    package func cancel(_ attempt: AttemptID) {
        if let tunnel = tunnels.find(attempt) { return tunnel.cancel() }
        if let lane, let attempt = lane.find(attempt) { return lane.cancel(attempt) }
        guard let transfer = find(attempt) else { return }
        transfer.receiver = nil
        if transfer.isDelivering || transfer.isPostponed { return }
        if isInLibcurl { postpone(transfer) } else { release(transfer) }
    }

    package func resumeResponse(_ attempt: AttemptID) {
        if let tunnel = tunnels.find(attempt) { return tunnel.resume() }
        if let lane, let attempt = lane.find(attempt) { return lane.resume(attempt) }
        guard let transfer = find(attempt) else { return }
        transfer.isFlowPaused = false
        touchLater(transfer)
    }

    package func requestBodyReady(_ attempt: AttemptID) {
        if let tunnel = tunnels.find(attempt) { return tunnel.clientBytesReady() }
        if let lane, let attempt = lane.find(attempt) { return lane.bodyReady(attempt) }
        guard let transfer = find(attempt) else { return }
        transfer.wantsSend = true
        touchLater(transfer)
    }

    package func sendRequestBody(_ attempt: AttemptID, _ bytes: UnsafeRawBufferPointer) -> Int { lane?.find(attempt)?.sendBody(bytes) ?? 0 }

    private func find(_ id: AttemptID) -> CurlTransfer? {
        let slot = Int(id.slot)
        guard slot < transfers.count, let transfer = transfers[slot], transfer.id == id, transfer.receiver != nil else { return nil }
        return transfer
    }

    private func postpone(_ transfer: CurlTransfer) {
        transfer.isPostponed = true
        pending.append(transfer.id.slot)
        worker.afterBatch(self)
    }

    func postpone(_ connection: UpstreamConnection) {
        ended.append(connection)
        worker.afterBatch(self)
    }

    private func disconnectEnded() { while let connection = ended.popLast() { disconnect(connection) } }

    // MARK: Transfers

    private func takeTransfer(for profile: UpstreamProfile) -> CurlTransfer {
        if let transfer = profile.idle.popLast() {
            idleCount -= 1
            return transfer
        }
        let slot: UInt32
        if let free = freeSlots.popLast() {
            slot = free
        } else {
            slot = UInt32(transfers.count)
            transfers.append(nil)
            generations.append(0)
        }
        let transfer = CurlTransfer(
            profile: profile, id: AttemptID(slot: slot, generation: generations[Int(slot)]), forwarder: self)
        transfers[Int(slot)] = transfer
        return transfer
    }

    private func profile(for upstream: UpstreamPlan) -> UpstreamProfile {
        if let latestProfile, latestProfile.serves(upstream) { return latestProfile }
        for profile in profiles where profile.serves(upstream) {
            latestProfile = profile
            return profile
        }
        if profiles.count >= Self.profilesMax {
            let oldest = profiles.removeFirst()
            oldest.isCurrent = false
            while let transfer = oldest.idle.popLast() {
                idleCount -= 1
                destroy(transfer)
            }
            while let connection = oldest.idleConnections.last { lane?.drop(connection) }
        }
        let profile = UpstreamProfile(upstream.settings)
        profiles.append(profile)
        latestProfile = profile
        return profile
    }

    private func add(_ transfer: CurlTransfer) {
        transfer.isAdded = addHandle(transfer.easy)
        if !transfer.isAdded {
            transfer.result = CURLE_FAILED_INIT
            touchLater(transfer)
        }
    }

    func addHandle(_ easy: UnsafeMutableRawPointer?) -> Bool {
        isInLibcurl = true
        let code = curl_multi_add_handle(multi, easy)
        isInLibcurl = false
        return code == CURLM_OK
    }

    /// False when libcurl has kept it: it lets go of it when the handle is cleaned up.
    @discardableResult
    func removeHandle(_ easy: UnsafeMutableRawPointer?) -> Bool {
        isInLibcurl = true
        let code = curl_multi_remove_handle(multi, easy)
        isInLibcurl = false
        return code == CURLM_OK
    }

    /// Takes the transfer out of libcurl (which closes a connection in the middle of a response) and keeps it for reuse.
    func release(_ transfer: CurlTransfer) {
        let isOut = !transfer.isAdded || removeHandle(transfer.easy)
        transfer.isAdded = false
        let slot = Int(transfer.id.slot)
        generations[slot] &+= 1
        transfer.id.generation = generations[slot]
        // libcurl counts its own repetitions over a handle's life and gives up after five.
        let isWorn = transfer.requestsMade > 1
        transfer.reset()
        let isUsable = isOut && !isWorn && transfer.isSound
        if !isUsable || idleCount >= Self.idleTransfersMax || !transfer.profile.isCurrent {
            destroy(transfer)
        } else {
            idleCount += 1
            transfer.profile.idle.append(transfer)
        }
    }

    private func destroy(_ transfer: CurlTransfer) {
        transfers[Int(transfer.id.slot)] = nil
        freeSlots.append(transfer.id.slot)
    }

    func noteConnecting(_ connection: UpstreamConnection) {
        if let easy = connection.easy { connecting[easy] = connection }
    }

    func forgetConnecting(_ connection: UpstreamConnection) {
        if let easy = connection.easy { connecting[easy] = nil }
    }

    // MARK: libcurl's turn

    /// Tells libcurl that a socket is ready, or with CURL_SOCKET_TIMEOUT that time has passed.
    func drive(_ descriptor: Int32, _ mask: Int32) {
        guard let multi else { return }
        var running: Int32 = 0
        isInLibcurl = true
        let code = curl_multi_socket_action(multi, descriptor, mask, &running)
        isInLibcurl = false
        // An event that was not served comes again by itself, a lapsed time does not.
        if code != CURLM_OK {
            dueAt = min(dueAt, worker.nanoseconds &+ Self.retryNanoseconds)
            wake(at: dueAt)
        }
        collect()
        settle()
    }

    private func setTimer(_ milliseconds: Int) {
        if milliseconds < 0 {
            dueAt = .max
        } else if milliseconds == 0 {
            if kicksAt != worker.nanoseconds {
                kicksAt = worker.nanoseconds
                kicks = 0
            }
            kicks += 1
            dueAt = 0
            if kicks <= Self.kicksPerBatchMax { worker.afterBatch(self) } else { wake(at: worker.nanoseconds) }
        } else {
            // Never early: libcurl would find nothing due and not ask again. Its own clock has moved since the batch began.
            dueAt = Clock.monotonicNanoseconds() &+ UInt64(milliseconds + 1) * 1_000_000
            wake(at: dueAt)
        }
    }

    package override func deadlineReached(_ nanoseconds: UInt64) {
        if dueAt <= nanoseconds {
            dueAt = .max
            drive(CRYO_CURL_SOCKET_TIMEOUT, 0)
        } else if dueAt < .max {
            wake(at: dueAt)
        }
    }

    package override func batchEnded() {
        disconnectEnded()
        while let slot = pending.popLast() {
            guard let transfer = transfers[Int(slot)] else { continue }
            transfer.isPostponed = false
            if transfer.receiver == nil { release(transfer) } else if !transfer.isAdded { add(transfer) }
        }
        settle()
        if dueAt == 0 {
            dueAt = .max
            drive(CRYO_CURL_SOCKET_TIMEOUT, 0)
        }
    }

    /// Notes the results of finished transfers.
    private func collect() {
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE else { continue }
            let easy = message.pointee.easy_handle
            let result = cryo_message_result(message)
            if let transfer = transfer(of: easy) {
                transfer.result = result
                touch(transfer)
            } else if let easy {
                connecting.removeValue(forKey: easy)?.connected(result)
            }
        }
    }

    /// nil: the handle of a connection of ours.
    private func transfer(of easy: UnsafeMutableRawPointer?) -> CurlTransfer? {
        var context: UnsafeMutableRawPointer?
        if cryo_easy_info_pointer(easy, CURLINFO_PRIVATE, &context) == CURLE_OK { return context.map { CurlTransfer.from($0) } }
        for case .some(let transfer) in transfers where transfer.easy == easy { return transfer }
        return nil
    }

    /// Something of this transfer is to be told once libcurl has returned.
    func touch(_ transfer: CurlTransfer) {
        if transfer.isTouched { return }
        transfer.isTouched = true
        touched.append(transfer.id.slot)
    }

    private func touchLater(_ transfer: CurlTransfer) {
        touch(transfer)
        if !isSettling { worker.afterBatch(self) }
    }

    /// Tells libcurl which directions are paused. It may hand over kept body bytes inside this call.
    func setPause(_ transfer: CurlTransfer) {
        guard transfer.isAdded, transfer.result == nil else { return }
        var mask = Int32(CRYO_CURL_PAUSE_CONT)
        if transfer.isReceivePaused { mask |= Int32(CRYO_CURL_PAUSE_RECV) }
        if transfer.isSendPaused { mask |= Int32(CRYO_CURL_PAUSE_SEND) }
        isInLibcurl = true
        let code = curl_easy_pause(transfer.easy, mask)
        isInLibcurl = false
        if code != CURLE_OK, transfer.result == nil {
            transfer.result = code
            touch(transfer)
        }
        collect()
    }
}
