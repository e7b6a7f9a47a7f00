#!/usr/bin/env bash
# natural 8.1.1 (npm): classifiers and TF-IDF of texts that differ in a digit.
#
# Guess: the words and numbers of a text are its features, as "12" is.
# Seen:  the digits 0 to 9 are stop words: "5 stars" is classified as "1 star", "click 2" as "click 1", and size 5 and size 6 have equal
#        TF-IDF. Of "$5.99" only "99" is left, so that "$9.99" fits as well. Numbers of two digits are kept.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund natural@8.1.1
cat > digits.mjs <<'JAVASCRIPT'
import natural from "natural";

const check = (name, seen, expected) => {
  console.log(`${name}: ${seen}`);
  if (String(seen) !== String(expected)) throw new Error(`the behaviour has changed; expected ${expected}`);
};
const stem = (text) => natural.PorterStemmer.tokenizeAndStem(text).join(" ");
check("buy 12 mugs", stem("buy 12 mugs"), "bui 12 mug");
check("buy 2 mugs", stem("buy 2 mugs"), "bui mug");
for (const Classifier of [natural.BayesClassifier, natural.LogisticRegressionClassifier]) {
  const reviews = new Classifier();
  reviews.addDocument("1 star", "bad");
  reviews.addDocument("5 stars", "good");
  reviews.train();
  check(`${Classifier.name}, 5 stars`, reviews.classify("5 stars"), "bad");
}
const actions = new natural.BayesClassifier();
for (const action of ["click 1", "click 2", "click 12", "click 15"]) actions.addDocument(action, action);
actions.train();
check("actions 2 and 15", [actions.classify("click 2"), actions.classify("click 15")], ["click 1", "click 15"]);
const products = new natural.TfIdf();
for (const product of ["mug of size 5", "mug of size 6", "shoe of size 42", "cup for $5.99", "cup for $9.99"]) products.addDocument(product);
const best = (query) => {
  const scores = products.tfidfs(query);
  return scores.flatMap((score, index) => (score > 0 && score === Math.max(...scores) ? [index] : []));
};
check("best for size 42", best("size 42"), [2]);
check("best for mug of size 5", best("mug of size 5"), [0, 1]);
check("best for $5.99", best("$5.99"), [3, 4]);
check("best for 5", best("5"), []);
process.exit(0);
JAVASCRIPT
node digits.mjs
