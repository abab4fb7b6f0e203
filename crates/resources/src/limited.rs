//! Slurm's words for limits that are passed: `job_state_reason_string` of 22.05.

/// What a limit is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limited {
    /// What all jobs together hold.
    Group,
    /// What all jobs together used so far.
    GroupMinutes,
    /// What running jobs together may still use.
    GroupRunMinutes,
    /// What one job holds.
    Job,
    /// What one job may use.
    JobMinutes,
    /// What one job holds of a node.
    Node,
    /// What the jobs of a user hold.
    User,
    /// What the jobs of an account hold.
    Account,
    /// What one job must hold.
    Least,
}

impl Limited {
    /// All of them.
    pub const ALL: [Limited; 9] = [
        Limited::Group,
        Limited::GroupMinutes,
        Limited::GroupRunMinutes,
        Limited::Job,
        Limited::JobMinutes,
        Limited::Node,
        Limited::User,
        Limited::Account,
        Limited::Least,
    ];

    /// Whether it is on resources times minutes.
    #[must_use]
    pub fn is_in_minutes(self) -> bool {
        matches!(
            self,
            Limited::GroupMinutes | Limited::GroupRunMinutes | Limited::JobMinutes
        )
    }
}

/// The reason by a TRES's name; `is_qos` is whether a QOS sets the limit.
#[must_use]
pub fn limit_reason(is_qos: bool, limited: Limited, tres: &str) -> &'static str {
    use Limited as L;
    // CPUs, memory, nodes, GRES, licences, billing, others.
    let words: [&'static str; 7] = match (is_qos, limited) {
        (true, L::Group) => [
            "QOSGrpCpuLimit",
            "QOSGrpMemLimit",
            "QOSGrpNodeLimit",
            "QOSGrpGRES",
            "QOSGrpLicense",
            "QOSGrpBilling",
            "QOSGrpUnknown",
        ],
        (true, L::GroupMinutes) => [
            "QOSGrpCPUMinutesLimit",
            "QOSGrpMemoryMinutes",
            "QOSGrpNodeMinutes",
            "QOSGrpGRESMinutes",
            "QOSGrpLicenseMinutes",
            "QOSGrpBillingMinutes",
            "QOSGrpUnknownMinutes",
        ],
        (true, L::GroupRunMinutes) => [
            "QOSGrpCPURunMinutesLimit",
            "QOSGrpMemoryRunMinutes",
            "QOSGrpNodeRunMinutes",
            "QOSGrpGRESRunMinutes",
            "QOSGrpLicenseRunMinutes",
            "QOSGrpBillingRunMinutes",
            "QOSGrpUnknownRunMinutes",
        ],
        (true, L::Job) => [
            "QOSMaxCpuPerJobLimit",
            "QOSMaxMemoryPerJob",
            "QOSMaxNodePerJobLimit",
            "QOSMaxGRESPerJob",
            "QOSMaxLicensePerJob",
            "QOSMaxBillingPerJob",
            "QOSMaxUnknownPerJob",
        ],
        (true, L::JobMinutes) => [
            "QOSMaxCpuMinutesPerJobLimit",
            "QOSMaxMemoryMinutesPerJob",
            "QOSMaxNodeMinutesPerJob",
            "QOSMaxGRESMinutesPerJob",
            "QOSMaxLicenseMinutesPerJob",
            "QOSMaxBillingMinutesPerJob",
            "QOSMaxUnknownMinutesPerJob",
        ],
        (true, L::Node) => [
            "QOSMaxCpuPerNode",
            "QOSMaxMemoryPerNode",
            "QOSMaxUnknownPerNode",
            "QOSMaxGRESPerNode",
            "QOSMaxUnknownPerNode",
            "QOSMaxBillingPerNode",
            "QOSMaxUnknownPerNode",
        ],
        (_, L::User) => [
            "QOSMaxCpuPerUserLimit",
            "QOSMaxMemoryPerUser",
            "QOSMaxNodePerUserLimit",
            "QOSMaxGRESPerUser",
            "QOSMaxLicensePerUser",
            "QOSMaxBillingPerUser",
            "QOSMaxUnknownPerUser",
        ],
        (_, L::Account) => [
            "MaxCpuPerAccount",
            "MaxMemoryPerAccount",
            "MaxNodePerAccount",
            "MaxGRESPerAccount",
            "MaxLicensePerAccount",
            "MaxBillingPerAccount",
            "MaxUnknownPerAccount",
        ],
        (_, L::Least) => [
            "QOSMinCpuNotSatisfied",
            "QOSMinMemory",
            "QOSMinNode",
            "QOSMinGRES",
            "QOSMinLicense",
            "QOSMinBilling",
            "QOSMinUnknown",
        ],
        (false, L::Group) => [
            "AssocGrpCpuLimit",
            "AssocGrpMemLimit",
            "AssocGrpNodeLimit",
            "AssocGrpGRES",
            "AssocGrpLicense",
            "AssocGrpBilling",
            "AssocGrpUnknown",
        ],
        (false, L::GroupMinutes) => [
            "AssocGrpCPUMinutesLimit",
            "AssocGrpMemMinutes",
            "AssocGrpNodeMinutes",
            "AssocGrpGRESMinutes",
            "AssocGrpLicenseMinutes",
            "AssocGrpBillingMinutes",
            "AssocGrpUnknownMinutes",
        ],
        (false, L::GroupRunMinutes) => [
            "AssocGrpCPURunMinutesLimit",
            "AssocGrpMemRunMinutes",
            "AssocGrpNodeRunMinutes",
            "AssocGrpGRESRunMinutes",
            "AssocGrpLicenseRunMinutes",
            "AssocGrpBillingRunMinutes",
            "AssocGrpUnknownRunMinutes",
        ],
        (false, L::Job) => [
            "AssocMaxCpuPerJobLimit",
            "AssocMaxMemPerJob",
            "AssocMaxNodePerJobLimit",
            "AssocMaxGRESPerJob",
            "AssocMaxLicensePerJob",
            "AssocMaxBillingPerJob",
            "AssocMaxUnknownPerJob",
        ],
        (false, L::JobMinutes) => [
            "AssocMaxCpuMinutesPerJobLimit",
            "AssocMaxMemMinutesPerJob",
            "AssocMaxNodeMinutesPerJob",
            "AssocMaxGRESMinutesPerJob",
            "AssocMaxLicenseMinutesPerJob",
            "AssocMaxBillingMinutesPerJob",
            "AssocMaxUnknownMinutesPerJob",
        ],
        (false, L::Node) => [
            "AssocMaxCpuPerNode",
            "AssocMaxMemPerNode",
            "AssocMaxUnknownPerNode",
            "AssocMaxGRESPerNode",
            "AssocMaxUnknownPerNode",
            "AssocMaxBillingPerNode",
            "AssocMaxUnknownPerNode",
        ],
    };
    words[match tres {
        "cpu" => 0,
        "mem" => 1,
        "node" => 2,
        "billing" => 5,
        name if name.starts_with("gres/") => 3,
        name if name.starts_with("license/") => 4,
        _ => 6,
    }]
}
