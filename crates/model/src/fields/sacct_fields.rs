//! The columns of `sacct`: names, widths and types. From 22.05's `sacct/sacct.c`.

use crate::fields::FieldKind;
use crate::fields::field_table::FieldKind::{Length, Moment, Nodes, Number, Text};

/// A column of `sacct`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SacctField {
    /// Its name in `--format` and its header; any case is taken.
    pub name: &'static str,
    /// Its width where none is asked for.
    pub width: usize,
    /// Aligned to the left; the others stand on the right.
    pub left: bool,
    /// What stands in it.
    pub kind: FieldKind,
}

impl SacctField {
    /// Finds a column by its name, or by the beginning of one: the first that fits, as Slurm does.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static SacctField> {
        let fits = |field: &&SacctField| {
            let start = field.name.get(..name.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(name))
        };
        SACCT_FIELDS.iter().find(fits).filter(|_| !name.is_empty())
    }
}

const fn field(name: &'static str, width: isize, kind: FieldKind) -> SacctField {
    SacctField {
        name,
        width: width.unsigned_abs(),
        left: width < 0,
        kind,
    }
}

/// Every column of `sacct`, in the order of `--helpformat`; a width below 0 aligns to the left.
#[rustfmt::skip]
pub const SACCT_FIELDS: &[SacctField] = &[
    field("Account", 10, Text),
    field("AdminComment", 15, Text),
    field("AllocCPUS", 10, Number),
    field("AllocNodes", 10, Number),
    field("AllocTRES", 10, Text),
    field("AssocID", 7, Number),
    field("AveCPU", 10, Length),
    field("AveCPUFreq", 10, Text),
    field("AveDiskRead", 14, Text),
    field("AveDiskWrite", 14, Text),
    field("AvePages", 10, Text),
    field("AveRSS", 10, Text),
    field("AveVMSize", 10, Text),
    field("BlockID", 16, Text),
    field("Cluster", 10, Text),
    field("Comment", 14, Text),
    field("Constraints", 19, Text),
    field("ConsumedEnergy", 14, Text),
    field("ConsumedEnergyRaw", 17, Number),
    field("Container", 19, Text),
    field("CPUTime", 10, Length),
    field("CPUTimeRAW", 10, Number),
    field("DBIndex", -10, Number),
    field("DerivedExitCode", 15, Text),
    field("Elapsed", 10, Length),
    field("ElapsedRaw", 10, Number),
    field("Eligible", 19, Moment),
    field("End", 19, Moment),
    field("ExitCode", 8, Text),
    field("Flags", 19, Text),
    field("GID", 6, Number),
    field("Group", 9, Text),
    field("JobID", -12, Text),
    field("JobIDRaw", -12, Text),
    field("JobName", 10, Text),
    field("Layout", 9, Text),
    field("MaxDiskRead", 12, Text),
    field("MaxDiskReadNode", 15, Text),
    field("MaxDiskReadTask", 15, Number),
    field("MaxDiskWrite", 12, Text),
    field("MaxDiskWriteNode", 16, Text),
    field("MaxDiskWriteTask", 16, Number),
    field("MaxPages", 8, Text),
    field("MaxPagesNode", 12, Text),
    field("MaxPagesTask", 14, Number),
    field("MaxRSS", 10, Text),
    field("MaxRSSNode", 10, Text),
    field("MaxRSSTask", 10, Number),
    field("MaxVMSize", 10, Text),
    field("MaxVMSizeNode", 14, Text),
    field("MaxVMSizeTask", 14, Number),
    field("McsLabel", 12, Text),
    field("MinCPU", 10, Length),
    field("MinCPUNode", 10, Text),
    field("MinCPUTask", 10, Number),
    field("NCPUS", 10, Number),
    field("NNodes", 8, Number),
    field("NodeList", 15, Nodes),
    field("NTasks", 8, Number),
    field("Partition", 10, Text),
    field("Priority", 10, Number),
    field("QOS", 10, Text),
    field("QOSRAW", 6, Number),
    field("Reason", 22, Text),
    field("ReqCPUFreq", 10, Text),
    field("ReqCPUFreqGov", 13, Text),
    field("ReqCPUFreqMax", 13, Text),
    field("ReqCPUFreqMin", 13, Text),
    field("ReqCPUS", 8, Number),
    field("ReqMem", 10, Text),
    field("ReqNodes", 8, Number),
    field("ReqTRES", 10, Text),
    field("Reservation", 20, Text),
    field("ReservationId", 8, Number),
    field("Reserved", 10, Length),
    field("ResvCPU", 10, Length),
    field("ResvCPURAW", 10, Number),
    field("Start", 19, Moment),
    field("State", 10, Text),
    field("Submit", 19, Moment),
    field("SubmitLine", 20, Text),
    field("Suspended", 10, Length),
    field("SystemComment", 15, Text),
    field("SystemCPU", 10, Length),
    field("Timelimit", 10, Length),
    field("TimelimitRaw", 10, Text),
    field("TotalCPU", 10, Length),
    field("TRESUsageInAve", 14, Text),
    field("TRESUsageInMax", 14, Text),
    field("TRESUsageInMaxNode", 18, Text),
    field("TRESUsageInMaxTask", 18, Text),
    field("TRESUsageInMin", 14, Text),
    field("TRESUsageInMinNode", 18, Text),
    field("TRESUsageInMinTask", 18, Text),
    field("TRESUsageInTot", 14, Text),
    field("TRESUsageOutAve", 15, Text),
    field("TRESUsageOutMax", 15, Text),
    field("TRESUsageOutMaxNode", 19, Text),
    field("TRESUsageOutMaxTask", 19, Text),
    field("TRESUsageOutMin", 15, Text),
    field("TRESUsageOutMinNode", 19, Text),
    field("TRESUsageOutMinTask", 19, Text),
    field("TRESUsageOutTot", 15, Text),
    field("UID", 6, Number),
    field("User", 9, Text),
    field("UserCPU", 10, Length),
    field("WCKey", 10, Text),
    field("WCKeyID", 10, Number),
    field("WorkDir", 20, Text),
];

/// What `sacct` shows where nothing is asked for.
pub const SACCT_FORMAT: &str = "jobid,jobname,partition,account,alloccpus,state,exitcode";

/// What `sacct --long` shows.
pub const SACCT_LONG: &str = "jobid,jobidraw,jobname,partition,maxvmsize,maxvmsizenode,\
    maxvmsizetask,avevmsize,maxrss,maxrssnode,maxrsstask,averss,maxpages,maxpagesnode,maxpagestask,\
    avepages,mincpu,mincpunode,mincputask,avecpu,ntasks,alloccpus,elapsed,state,exitcode,\
    avecpufreq,reqcpufreqmin,reqcpufreqmax,reqcpufreqgov,reqmem,consumedenergy,maxdiskread,\
    maxdiskreadnode,maxdiskreadtask,avediskread,maxdiskwrite,maxdiskwritenode,maxdiskwritetask,\
    avediskwrite,reqtres,alloctres,tresusageinave,tresusageinmax,tresusageinmaxnode,\
    tresusageinmaxtask,tresusageinmin,tresusageinminnode,tresusageinmintask,tresusageintot,\
    tresusageoutmax,tresusageoutmaxnode,tresusageoutmaxtask,tresusageoutave,tresusageouttot";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_the_beginning_of_their_names() {
        let width = |name| SacctField::by_name(name).map(|field| (field.name, field.width));
        assert_eq!(width("jobid"), Some(("JobID", 12)));
        assert_eq!(width("ALLOCC"), Some(("AllocCPUS", 10)));
        assert_eq!(width("max"), Some(("MaxDiskRead", 12)));
        assert_eq!(width("nosuch"), None);
        assert_eq!(width(""), None);
        for name in SACCT_FORMAT.split(',') {
            assert!(SacctField::by_name(name).is_some(), "{name}");
        }
    }
}
