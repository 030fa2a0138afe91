//! Commands on sorted sets.

use std::ops::Range;

use redis::Value;

use super::{
    scan,
    words::{Words, parse_score, syntax_error},
};
use crate::{
    reply::{Outcome, bulk, integer, optional, score_text},
    sorted_set::{AddRule, SortedSet},
    store::Store,
};

pub(super) fn count(store: &mut Store, words: &Words<'_>) -> Outcome {
    Ok(integer(
        store.read::<SortedSet>(words.key())?.map_or(0, SortedSet::len),
    ))
}

pub(super) fn score(store: &mut Store, words: &Words<'_>) -> Outcome {
    Ok(score_of(store.read(words.key())?, words.word(1)))
}

pub(super) fn scores(store: &mut Store, words: &Words<'_>) -> Outcome {
    let set = store.read(words.key())?;
    let scores = words.from(1).iter().map(|member| score_of(set, member));
    Ok(Value::Array(scores.collect()))
}

fn score_of(set: Option<&SortedSet>, member: &[u8]) -> Value {
    let score = set.and_then(|set| set.score(member)).map(score_text);
    optional(score.as_deref())
}

/// `ZSCAN key cursor [COUNT count]`.
pub(super) fn scan(store: &mut Store, words: &Words<'_>) -> Outcome {
    let (after, count) = scan::page(words)?;
    let set = store.read::<SortedSet>(words.key())?.into_iter();
    let members = set.flat_map(|set| set.members_after(after));
    Ok(scan::answer(
        members.map(|(member, score)| (member, Value::BulkString(score_text(score)))),
        count,
    ))
}

/// `ZRANK key member [WITHSCORE]`.
pub(super) fn rank(store: &mut Store, words: &Words<'_>) -> Outcome {
    let with_score = words.is_option(2, "WITHSCORE");
    if words.len() > 2 && !with_score {
        return Err(syntax_error());
    }
    let (set, member) = (store.read::<SortedSet>(words.key())?, words.word(1));
    let Some(rank) = set.and_then(|set| set.rank(member)) else {
        return Ok(Value::Nil);
    };
    Ok(if with_score {
        Value::Array(vec![integer(rank), score_of(set, member)])
    } else {
        integer(rank)
    })
}

/// `ZADD key [NX | GT] score member …`. Answers how many members are new.
pub(super) fn add(store: &mut Store, words: &Words<'_>) -> Outcome {
    let (rule, first) = if words.is_option(1, "NX") {
        (AddRule::New, 2)
    } else if words.is_option(1, "GT") {
        (AddRule::Greater, 2)
    } else {
        (AddRule::Always, 1)
    };
    let members: Vec<_> = words
        .pairs(first)?
        .map(|(score, member)| Ok((parse_score(score)?, member)))
        .collect::<Result<_, String>>()?;
    store.change(words.key(), |set: &mut SortedSet| {
        let new = members
            .iter()
            .filter(|(score, member)| set.add(member, *score, rule));
        integer(new.count())
    })
}

pub(super) fn remove(store: &mut Store, words: &Words<'_>) -> Outcome {
    store.change(words.key(), |set: &mut SortedSet| {
        integer(words.from(1).iter().filter(|member| set.remove(member)).count())
    })
}

pub(super) fn count_scores(store: &mut Store, words: &Words<'_>) -> Outcome {
    let (min, max) = (words.score_bound(1)?, words.score_bound(2)?);
    let set = store.read::<SortedSet>(words.key())?;
    Ok(integer(set.map_or(0, |set| set.ranks_of_scores(min, max).len())))
}

pub(super) fn remove_ranks(store: &mut Store, words: &Words<'_>) -> Outcome {
    let (first, last) = (words.integer(1)?, words.integer(2)?);
    store.change(words.key(), |set: &mut SortedSet| {
        integer(set.remove_ranks(set.ranks_from_to(first, last)))
    })
}

pub(super) fn remove_scores(store: &mut Store, words: &Words<'_>) -> Outcome {
    let (min, max) = (words.score_bound(1)?, words.score_bound(2)?);
    store.change(words.key(), |set: &mut SortedSet| {
        integer(set.remove_ranks(set.ranks_of_scores(min, max)))
    })
}

/// `ZRANGE key first last [WITHSCORES]`.
pub(super) fn range(store: &mut Store, words: &Words<'_>) -> Outcome {
    list_ranks(store, words, false)
}

/// `ZREVRANGE key first last [WITHSCORES]`, which counts ranks from the highest score.
pub(super) fn range_backwards(store: &mut Store, words: &Words<'_>) -> Outcome {
    list_ranks(store, words, true)
}

fn list_ranks(store: &mut Store, words: &Words<'_>, is_backwards: bool) -> Outcome {
    let with_scores = words.is_option(3, "WITHSCORES");
    if words.len() > 3 && !with_scores {
        return Err(syntax_error());
    }
    let (first, last) = (words.integer(1)?, words.integer(2)?);
    let Some(set) = store.read::<SortedSet>(words.key())? else {
        return Ok(Value::Array(Vec::new()));
    };
    let mut ranks = set.ranks_from_to(first, last);
    if is_backwards {
        ranks = set.len() - ranks.end..set.len() - ranks.start;
    }
    Ok(list(set, ranks, is_backwards, with_scores))
}

/// `ZRANGEBYSCORE key min max [WITHSCORES] [LIMIT offset count]`.
pub(super) fn range_by_score(store: &mut Store, words: &Words<'_>) -> Outcome {
    list_scores(store, words, false)
}

/// `ZREVRANGEBYSCORE key max min [WITHSCORES] [LIMIT offset count]`.
pub(super) fn range_by_score_backwards(store: &mut Store, words: &Words<'_>) -> Outcome {
    list_scores(store, words, true)
}

fn list_scores(store: &mut Store, words: &Words<'_>, is_backwards: bool) -> Outcome {
    let (from, to) = (words.score_bound(1)?, words.score_bound(2)?);
    let (mut at, mut with_scores) = (3, false);
    let (mut offset, mut most) = (0, usize::MAX);
    while at < words.len() {
        if words.is_option(at, "WITHSCORES") {
            with_scores = true;
            at += 1;
        } else if words.is_option(at, "LIMIT") {
            // A negative count means all, and a negative offset none.
            most = usize::try_from(words.integer(at + 2)?).unwrap_or(usize::MAX);
            offset = usize::try_from(words.integer(at + 1)?).unwrap_or(usize::MAX);
            at += 3;
        } else {
            return Err(syntax_error());
        }
    }
    let Some(set) = store.read::<SortedSet>(words.key())? else {
        return Ok(Value::Array(Vec::new()));
    };
    let ranks = if is_backwards {
        let ranks = set.ranks_of_scores(to, from);
        let end = ranks.end.saturating_sub(offset).max(ranks.start);
        end.saturating_sub(most).max(ranks.start)..end
    } else {
        let ranks = set.ranks_of_scores(from, to);
        let start = ranks.start.saturating_add(offset).min(ranks.end);
        start..start.saturating_add(most).min(ranks.end)
    };
    Ok(list(set, ranks, is_backwards, with_scores))
}

/// The members of these ranks, each with its score behind it if `with_scores`.
fn list(set: &SortedSet, ranks: Range<usize>, is_backwards: bool, with_scores: bool) -> Value {
    let mut members: Vec<_> = set.members(ranks).collect();
    if is_backwards {
        members.reverse();
    }
    let words = members.into_iter().flat_map(|(member, score)| {
        let score = with_scores.then(|| Value::BulkString(score_text(score)));
        [bulk(member)].into_iter().chain(score)
    });
    Value::Array(words.collect())
}
