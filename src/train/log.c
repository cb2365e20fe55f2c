/* log.c — one JSON object a line. */
#include "train/log.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "format/json.h"
#include "train/scores.h"

#define LINE_MOST ((size_t)64 << 10)

static json_t *number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static hec_status put_line(json_t *to, const log_line *l)
{
	const hec_train_scores *s = l->scores;
	HEC_TRY(json_put(to, "step", json_integer(l->step)));
	HEC_TRY(json_put(to, "epoch", json_integer(l->epoch)));
	HEC_TRY(json_put(to, "loss", number(l->loss)));
	HEC_TRY(json_put(to, "valid_loss", number(s ? s->value[HEC_METRIC_LOSS] : NAN)));
	for (int i = HEC_METRIC_LOSS + 1; s && i < HEC_METRICS; i++)
		if (isfinite(s->value[i]))
			HEC_TRY(json_put(to, hec_metric_name((hec_metric)i), number(s->value[i])));
	HEC_TRY(json_put(to, "lr", number(l->lr)));
	HEC_TRY(json_put(to, "grad_norm", number(l->grad_norm)));
	HEC_TRY(json_put(to, "targets", json_integer(l->targets)));
	HEC_TRY(json_put(to, "skipped", json_integer(l->skips)));
	HEC_TRY(json_put(to, "tokens_per_s", number(l->tokens_per_s)));
	return json_put(to, "seconds", number(l->seconds));
}

/* In one write, so that a reader sees whole lines. */
static hec_status append(const char *path, const char *text, size_t size)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return fail(HEC_ERR_IO, "%s: could not be opened: %s", path, strerror(errno));
	off_t before = lseek(fd, 0, SEEK_END);
	ssize_t n = write(fd, text, size);
	int error = errno;
	/* Half a line would spoil the next one, and with it all that a resumed run keeps. */
	if (n > 0 && n < (ssize_t)size && before >= 0 && ftruncate(fd, before) != 0)
		error = errno;
	close(fd);
	if (n == (ssize_t)size)
		return HEC_OK;
	return fail(HEC_ERR_IO, "%s: could not be written: %s", path,
	            n < 0 ? strerror(error) : "it was cut short");
}

hec_status log_add(const char *path, const log_line *line)
{
	json_t *object = json_object();
	char *text = NULL;
	size_t size = 0;
	hec_status status = object ? put_line(object, line)
	                           : fail(HEC_ERR_MEMORY, "%s: no memory for a line", path);
	if (status == HEC_OK)
		status = json_text_make(object, false, &text, &size);
	json_decref(object);
	HEC_TRY(status);
	char *whole = mem_resize(text, size + 2);
	if (!whole) {
		mem_free(text);
		return fail(HEC_ERR_MEMORY, "%s: no memory for a line", path);
	}
	whole[size] = '\n';
	status = append(path, whole, size + 1);
	mem_free(whole);
	return status;
}

hec_status log_flush(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return HEC_OK;
	int error = fd < 0 || fsync(fd) != 0 ? errno : 0;
	if (fd >= 0)
		close(fd);
	return error ? fail(HEC_ERR_IO, "%s: could not be flushed to disk: %s", path,
	                    strerror(error))
	             : HEC_OK;
}

/* The step that a line is about; −1: it is no line of a log. */
static int64_t step_of_line(const char *path, const char *line, size_t size)
{
	json_t *object = NULL;
	int64_t step = -1;
	if (json_text_read(path, line, size, JSON_CONFIG_MOST, &object) != HEC_OK)
		return -1;
	if (!json_whole(json_object_get(object, "step"), &step))
		step = -1;
	json_decref(object);
	return step;
}

hec_status log_each(const char *path, log_visit *visit, void *user)
{
	file_in *in;
	HEC_TRY(file_in_open(path, &in));
	const uint64_t size = file_in_size(in);
	char *buffer = mem_alloc(LINE_MOST);
	hec_status status =
		buffer ? HEC_OK : fail(HEC_ERR_MEMORY, "%s: no memory to read it", path);
	bool too_long = false;
	uint64_t next;
	for (uint64_t at = 0; status == HEC_OK && at < size; at = next) {
		size_t n = size - at < LINE_MOST ? (size_t)(size - at) : LINE_MOST, used = 0;
		status = file_in_read(in, at, buffer, n);
		for (const char *end;
		     status == HEC_OK && (end = memchr(buffer + used, '\n', n - used)) != NULL;) {
			size_t length = (size_t)(end - buffer) + 1 - used;
			status = visit(user, too_long ? NULL : buffer + used, length);
			too_long = false;
			used += length;
		}
		too_long = too_long || used == 0;
		next = at + (used > 0 ? used : n);
		if (n < LINE_MOST)
			break; /* what is left has no end: cut short when the run was killed */
	}
	mem_free(buffer);
	file_in_close(in);
	return status;
}

typedef struct cut {
	const char *path;
	int64_t step;
	uint64_t at, good; /* bytes seen; of them, up to the end of the first lines that stay */
	bool stopped, moved;
	file_out *out; /* NULL: only looking */
} cut;

static hec_status cut_line(void *user, const char *line, size_t size)
{
	cut *c = user;
	int64_t step = line ? step_of_line(c->path, line, size - 1) : -1;
	bool stays = step >= 0 && step <= c->step;
	c->at += size;
	c->stopped = c->stopped || !stays;
	c->moved = c->moved || (stays && c->stopped);
	if (!c->stopped)
		c->good = c->at;
	return stays && c->out ? file_out_write(c->out, line, size) : HEC_OK;
}

/* Something is taken out from between. */
static hec_status write_again(const char *path, int64_t step)
{
	cut c = {.path = path, .step = step};
	HEC_TRY(file_out_open(path, &c.out));
	hec_status status = log_each(path, cut_line, &c);
	if (status == HEC_OK)
		return file_out_commit(c.out);
	file_out_abort(c.out);
	return status;
}

hec_status log_cut(const char *path, int64_t step)
{
	cut c = {.path = path, .step = step};
	struct stat info;
	if (stat(path, &info) != 0 && errno == ENOENT)
		return HEC_OK;
	HEC_TRY(log_each(path, cut_line, &c));
	if (c.moved)
		return write_again(path, step);
	/* No second copy: this must do on a disk that is full, and what stays is not touched. */
	if (c.good < (uint64_t)info.st_size && truncate(path, (off_t)c.good) != 0)
		return fail(HEC_ERR_IO, "%s: could not be cut after %llu bytes: %s", path,
		            (unsigned long long)c.good, strerror(errno));
	return HEC_OK;
}
