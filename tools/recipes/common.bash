# common.bash — sourced by tools/recipes/…. A recipe makes its data and its pretrained model if they are missing, trains
# (or resumes a stopped run), and measures the result on held-out texts.
#
#   usage: NAME [RUN] [OPTION]…     RUN: the folder of the run (build/runs/NAME); OPTION…: more for `hecate train`,
#                                   e.g. --threads 2 --time 3600
# BUILD=FOLDER: the folder of the hecate program (build); DATA=FOLDER, REAL=FOLDER: data and models (build/data,
# build/real).
# TWIN=1: runs only the first 200 steps, without dropout, in Hecate and in PyTorch. Their losses must agree within 0.1 %
# (tools/twin/recipe.py). RUN is then build/twin-NAME. PEERS=FOLDER: a virtual environment with the pinned packages.

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
build=${BUILD:-build}
data=${DATA:-build/data}
real=${REAL:-build/real}
hecate=$build/hecate
name=$(basename "$0")
run=build/runs/$name
[ -z "${TWIN:-}" ] || run=build/twin-$name
if [ $# -gt 0 ] && [[ $1 != -* ]]; then
	run=$1
	shift
fi
[ -x "$hecate" ] || { echo "$name: $hecate is not built" >&2; exit 1; }
more=("$@")

# learn OPTION…: starts the run with these options, or resumes it.
learn() {
	if [ -n "${TWIN:-}" ]; then
		[ -n "${PEERS:-}" ] || tools/venv "$build/peers" torch numpy transformers safetensors
		exec "${PEERS:-$build/peers}/bin/python" -B tools/twin/recipe.py "$hecate" "$run" "$@" "${more[@]}"
	elif [ -e "$run/checkpoint/latest" ]; then
		"$hecate" train --resume --out "$run" "${more[@]}"
	else
		"$hecate" train --out "$run" "$@" "${more[@]}"
	fi
}
