// How many descriptors this process may open.
// Domain: cold

import Glibc

package enum DescriptorLimit {
    /// Raises the soft limit to the hard one, since shells and supervisors often give 1,024: the limit from now on, 0 when it is unknown.
    /// Programs started by this one get it too.
    package static func raise() -> UInt64 {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return 0 }
        guard limit.rlim_cur < limit.rlim_max else { return UInt64(limit.rlim_cur) }
        var raised = limit
        raised.rlim_cur = limit.rlim_max
        return UInt64((setrlimit(resource, &raised) == 0 ? raised : limit).rlim_cur)
    }
}
