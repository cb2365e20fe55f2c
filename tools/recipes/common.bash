# common.bash — sourced by tools/recipes/…: a recipe makes its data and its first weights where they are missing, trains
# (or goes on with a run that was stopped), and measures what came out on texts that it never saw.
#
#   usage: NAME [RUN] [OPTION]…     RUN: the folder of the run (build/runs/NAME); OPTION…: more for `hecate train`,
#                                   e.g. --threads 2 --time 3600
# BUILD=FOLDER whose hecate is used (build); DATA=FOLDER, REAL=FOLDER of data and models (build/data, build/real).
# TWIN=1: nothing but the first 200 steps, without dropout, and the same in PyTorch: their losses must be equal to 0.1 %
# (tools/twin/recipe.py). RUN is build/twin-NAME then; PEERS=FOLDER a virtual environment that has the pinned packages.

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

# learn OPTION…: begins the run with these options, or goes on with it.
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
