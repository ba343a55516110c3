//! The order of runs: each run of every condition has every contestant in turn, so that all see the same neighbours.

use super::contestant::Contestant;
use super::progress::Progress;
use crate::report::Failure;

/// All runs of one contestant under one condition, in the order in which they were made.
#[derive(Clone, Debug)]
pub(crate) struct Measured<C, R> {
    /// Under what.
    pub(crate) condition: C,
    /// Who.
    pub(crate) contestant: Contestant,
    /// Each run.
    pub(crate) runs: Vec<R>,
}

/// Makes all runs of these cells, alternating.
pub(crate) fn alternate<C, R>(
    cells: impl IntoIterator<Item = (C, Contestant)>,
    runs: u32,
    mut run: impl FnMut(&C, Contestant) -> Result<R, Failure>,
) -> Result<Vec<Measured<C, R>>, Failure> {
    let start = |(condition, contestant)| Measured { condition, contestant, runs: Vec::new() };
    let mut cells: Vec<_> = cells.into_iter().map(start).collect();
    let progress = Progress::new(cells.len() * runs as usize);
    for number in 1..=runs {
        for cell in &mut cells {
            progress.begin(format!("run {number}: {}", cell.contestant.name()));
            cell.runs.push(run(&cell.condition, cell.contestant)?);
            progress.step();
        }
    }
    Ok(cells)
}

/// The cell of another contestant under the same condition.
pub(crate) fn same<'a, C: PartialEq, R>(
    cells: &'a [Measured<C, R>],
    of: &Measured<C, R>,
    contestant: Contestant,
) -> Option<&'a Measured<C, R>> {
    cells.iter().find(|cell| cell.condition == of.condition && cell.contestant == contestant)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs alternate between cells; a failing run ends it all.
    #[test]
    fn runs_alternate() {
        let asked = [(1, Contestant::Floor), (1, Contestant::Cyclone), (2, Contestant::Floor)];
        let mut order = Vec::new();
        let cells = alternate(asked, 2, |condition, contestant| {
            order.push((*condition, contestant));
            Ok(order.len())
        });
        let cells = cells.unwrap();
        assert_eq!(order, [asked, asked].concat());
        assert_eq!(cells[1].runs, [2, 5]);
        assert_eq!(same(&cells, &cells[0], Contestant::Cyclone).map(|cell| cell.runs[0]), Some(2));
        assert!(same(&cells, &cells[2], Contestant::Cyclone).is_none());
    }
}
