// Two sequences put beside each other by a longest common subsequence: pairs of places, undefined where one has nothing.

const MOST_CELLS = 4e6; // of the table; longer sequences are taken as different where they begin to differ

function aligned(one, other) {
  let head = 0;
  while (head < one.length && head < other.length && one[head] === other[head]) head += 1;
  let tail = 0;
  while (tail < Math.min(one.length, other.length) - head && one.at(-1 - tail) === other.at(-1 - tail)) tail += 1;
  const [rows, columns] = [one.length - head - tail, other.length - head - tail];
  const pairs = Array.from({ length: head }, (_, place) => [place, place]);
  const lengths = rows * columns > MOST_CELLS ? undefined : commonLengths(one.slice(head, head + rows), other.slice(head, head + columns));
  let [row, column] = [0, 0];
  while (row < rows || column < columns) {
    const isEqual = lengths && row < rows && column < columns && one[head + row] === other[head + column];
    const down = lengths ? lengths[row + 1]?.[column] ?? -1 : row < rows ? 1 : -1;
    const right = lengths ? lengths[row][column + 1] ?? -1 : 0;
    if (isEqual) pairs.push([head + row++, head + column++]);
    else if (row < rows && (column >= columns || down >= right)) pairs.push([head + row++, undefined]);
    else pairs.push([undefined, head + column++]);
  }
  for (let left = tail; left > 0; left -= 1) pairs.push([one.length - left, other.length - left]);
  return pairs;
}

// For each two places, how long the longest common subsequence of what follows is.
function commonLengths(one, other) {
  const lengths = Array.from({ length: one.length + 1 }, () => new Uint32Array(other.length + 1));
  for (let row = one.length - 1; row >= 0; row -= 1) {
    for (let column = other.length - 1; column >= 0; column -= 1) {
      lengths[row][column] = one[row] === other[column]
        ? lengths[row + 1][column + 1] + 1
        : Math.max(lengths[row + 1][column], lengths[row][column + 1]);
    }
  }
  return lengths;
}
