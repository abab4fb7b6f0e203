//! Where the CPUs of a node lie: in which socket, core and NUMA domain.

use std::collections::BTreeMap;

/// How CPUs lie in a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sockets {
    /// Sockets.
    pub sockets: u32,
    /// Cores of a socket.
    pub cores: u32,
    /// Threads of a core.
    pub threads: u32,
}

/// A CPU of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuPlace {
    /// Its number.
    pub number: u32,
    /// Its socket, as the machine counts them.
    pub socket: u32,
    /// Its core, as the machine counts those of the socket.
    pub core: u32,
    /// Its NUMA domain.
    pub domain: u32,
}

/// The CPUs of a node by their places, which go socket by socket, in a socket core by core, in a core
/// thread by thread, as Slurm counts them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuLayout {
    shape: Sockets,
    /// The CPU of each place, where one is; `None` for all: each CPU has the number of its place, and each
    /// socket is a domain.
    cpus: Option<Vec<Option<CpuPlace>>>,
}

impl CpuLayout {
    /// That of a machine's CPUs. Where some can't be used, sockets may have different numbers of them.
    #[must_use]
    pub fn of_machine(cpus: &[CpuPlace]) -> CpuLayout {
        let mut cores: BTreeMap<(u32, u32), Vec<CpuPlace>> = BTreeMap::new();
        for cpu in cpus {
            cores.entry((cpu.socket, cpu.core)).or_default().push(*cpu);
        }
        let mut sockets: BTreeMap<u32, Vec<Vec<CpuPlace>>> = BTreeMap::new();
        for ((socket, _), mut core) in cores {
            core.sort_by_key(|cpu| cpu.number);
            sockets.entry(socket).or_default().push(core);
        }
        // Sockets and cores are in the order of their first CPUs, whatever the machine calls them.
        let mut sockets: Vec<Vec<Vec<CpuPlace>>> = sockets.into_values().collect();
        for cores in &mut sockets {
            cores.sort_by_key(|core| core.first().map(|cpu| cpu.number));
        }
        sockets.sort_by_key(|cores| cores.first().and_then(|core| Some(core.first()?.number)));
        let most_cores = sockets.iter().map(Vec::len).max().unwrap_or(0);
        let most_threads = sockets.iter().flatten().map(Vec::len).max().unwrap_or(0);
        let mut places = Vec::new();
        for cores in &sockets {
            for core in 0..most_cores {
                let threads = cores.get(core);
                places.extend(
                    (0..most_threads).map(|thread| threads.and_then(|it| it.get(thread).copied())),
                );
            }
        }
        let narrow = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        CpuLayout {
            shape: Sockets {
                sockets: narrow(sockets.len()),
                cores: narrow(most_cores),
                threads: narrow(most_threads),
            },
            cpus: Some(places),
        }
    }

    /// That of a pretended node with so many CPUs, of which this is said. One that counts its cores alone
    /// as CPUs has no threads; what does not come out even is no more than a number of cores.
    #[must_use]
    pub fn pretended(said: Option<Sockets>, cpus: u32) -> CpuLayout {
        let cores = |there: &Sockets| there.sockets.checked_mul(there.cores);
        let shape = said.and_then(|there| {
            let all = cores(&there)?.checked_mul(there.threads)?;
            let of_cores = Sockets {
                threads: 1,
                ..there
            };
            if all == cpus {
                Some(there)
            } else {
                (cores(&there)? == cpus).then_some(of_cores)
            }
        });
        CpuLayout {
            shape: shape.unwrap_or(Sockets {
                sockets: 1,
                cores: cpus,
                threads: 1,
            }),
            cpus: None,
        }
    }

    /// Sockets, cores and threads, where all sockets and all cores have the same; else as many cores as
    /// there are CPUs.
    #[must_use]
    pub fn sockets(&self) -> Sockets {
        match &self.cpus {
            Some(cpus) if cpus.iter().any(Option::is_none) => Sockets {
                sockets: 1,
                cores: u32::try_from(cpus.iter().flatten().count()).unwrap_or(u32::MAX),
                threads: 1,
            },
            _ => self.shape,
        }
    }

    /// Sockets, cores and threads by which places are counted.
    pub(super) fn shape(&self) -> Sockets {
        self.shape
    }

    /// The place of a CPU; none where the node does not have it.
    pub(super) fn place_of(&self, number: u32) -> Option<usize> {
        match &self.cpus {
            None => Some(number as usize),
            Some(cpus) => cpus
                .iter()
                .position(|cpu| cpu.is_some_and(|cpu| cpu.number == number)),
        }
    }

    /// The number of the CPU at a place.
    pub(super) fn number_at(&self, place: usize) -> Option<u32> {
        match &self.cpus {
            None => u32::try_from(place).ok(),
            Some(cpus) => cpus.get(place).copied().flatten().map(|cpu| cpu.number),
        }
    }

    /// The NUMA domain of a CPU.
    pub(super) fn domain_of(&self, number: u32) -> Option<u32> {
        let place = self.place_of(number)?;
        match &self.cpus {
            None => {
                let each = self.shape.cores.saturating_mul(self.shape.threads);
                number.checked_div(each)
            }
            Some(cpus) => cpus.get(place).copied().flatten().map(|cpu| cpu.domain),
        }
    }

    /// How many NUMA domains there are.
    pub(super) fn domains(&self) -> u32 {
        match &self.cpus {
            None => self.shape.sockets,
            Some(cpus) => {
                let all = cpus.iter().flatten().map(|cpu| cpu.domain);
                all.max().map_or(1, |last| last.saturating_add(1))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `places`: socket and core of each CPU from 0 on.
    #[track_caller]
    fn check(places: &[(u32, u32)], shape: [u32; 3], order: &[Option<u32>]) {
        let cpu = |(number, (socket, core)): (u32, &(u32, u32))| CpuPlace {
            number,
            socket: *socket,
            core: *core,
            domain: *socket,
        };
        let layout = CpuLayout::of_machine(&(0..).zip(places).map(cpu).collect::<Vec<_>>());
        let own = layout.sockets();
        assert_eq!([own.sockets, own.cores, own.threads], shape);
        let places = 0..order.len();
        let got: Vec<_> = places.map(|place| layout.number_at(place)).collect();
        assert_eq!(got, order);
    }

    #[test]
    fn places_go_socket_by_socket_whatever_the_machine_calls_them() {
        check(&[(0, 0), (0, 1)], [1, 2, 1], &[Some(0), Some(1)]);
        // Two sockets of two cores with two threads, numbered in turn.
        let even = [
            (3, 8),
            (7, 8),
            (3, 0),
            (7, 0),
            (3, 8),
            (7, 8),
            (3, 0),
            (7, 0),
        ];
        let order = [0, 4, 2, 6, 1, 5, 3, 7].map(Some);
        check(&even, [2, 2, 2], &order);
        // One CPU of a socket can't be used.
        let odd = [(0, 0), (0, 1), (1, 0)];
        check(&odd, [1, 3, 1], &[Some(0), Some(1), Some(2), None]);
        check(&[], [0, 0, 0], &[None]);
    }

    #[test]
    fn a_pretended_node_has_what_is_said_of_it() {
        let check = |said: [u32; 3], cpus: u32, want: [u32; 3]| {
            let [sockets, cores, threads] = said;
            let said = Sockets {
                sockets,
                cores,
                threads,
            };
            let got = CpuLayout::pretended(Some(said), cpus).sockets();
            assert_eq!([got.sockets, got.cores, got.threads], want);
        };
        check([2, 4, 2], 16, [2, 4, 2]);
        check([2, 4, 2], 8, [2, 4, 1]);
        check([2, 4, 2], 12, [1, 12, 1]);
    }
}
