/* interrupt.c — a handler that sets a flag and a timer, whose own handler ends the process. Both call only
 * what a signal handler may. */
#include "cli/command/interrupt.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define GRACE_NS 600000000L
#define PATH_MOST 4200
#define FILES_MOST 4

static volatile sig_atomic_t asked, patient, stops_an_answer;
static timer_t timer;
static bool has_timer;

static struct {
	volatile sig_atomic_t open;
	char path[PATH_MOST];
} files[FILES_MOST];

static int exit_status_of(int number)
{
	return 128 + number;
}

_Noreturn static void end_by(int number)
{
	sigset_t set;
	for (int i = 0; i < FILES_MOST; i++)
		if (files[i].open)
			unlink(files[i].path);
	signal(number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, number);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	raise(number);
	_exit(exit_status_of(number));
}

static void set_timer(long nanoseconds)
{
	const struct itimerspec in = {.it_value.tv_nsec = nanoseconds};
	if (!has_timer)
		alarm(nanoseconds > 0); /* a little later */
	else
		timer_settime(timer, 0, &in, NULL);
}

static bool may_take_long(int number)
{
	return patient || (number == SIGINT && stops_an_answer);
}

static void on_signal(int number)
{
	int error = errno;
	if (asked)
		end_by(number);
	asked = number;
	if (!may_take_long(number))
		set_timer(GRACE_NS);
	errno = error;
}

static void on_time(int number)
{
	(void)number;
	if (asked && !may_take_long(asked))
		end_by(asked);
}

static void catch_one(int number, void handler(int))
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	sigfillset(&action.sa_mask);
	sigaction(number, &action, NULL);
}

void interrupt_catch(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
	if (!has_timer)
		has_timer = timer_create(CLOCK_MONOTONIC, &event, &timer) == 0;
	catch_one(SIGALRM, on_time);
	catch_one(SIGINT, on_signal);
	catch_one(SIGTERM, on_signal);
}

void interrupt_catch_all(void)
{
	struct sigaction was;
	interrupt_catch();
	if (sigaction(SIGHUP, NULL, &was) == 0 && was.sa_handler != SIG_IGN)
		catch_one(SIGHUP, on_signal);
}

bool interrupt_asked(void)
{
	return asked != 0;
}

int interrupt_signal(void)
{
	return asked;
}

int interrupt_exit_status(void)
{
	return exit_status_of(interrupt_signal());
}

hec_status interrupt_status(void)
{
	return interrupt_asked() ? HEC_ERR_CANCELLED : HEC_OK;
}

hec_status interrupt_stops(void *user, const char *phase, int64_t done, int64_t total)
{
	(void)user, (void)phase, (void)done, (void)total;
	return interrupt_status();
}

void interrupt_answer_begins(void)
{
	stops_an_answer = true;
}

void interrupt_answer_ends(void)
{
	const bool stopped = asked == SIGINT;
	stops_an_answer = false;
	if (stopped) {
		set_timer(0);
		asked = 0;
	}
}

/* A signal between the two lines sets the timer, or not, by what it finds: each way it is right behind them. */
void interrupt_wait(bool patiently)
{
	patient = patiently;
	if (asked)
		set_timer(patiently ? 0 : GRACE_NS);
}

/* A path that is too long stays. */
void interrupt_removes(const char *path)
{
	for (int i = 0; i < FILES_MOST; i++)
		if (!files[i].open && strlen(path) < PATH_MOST) {
			strcpy(files[i].path, path);
			atomic_signal_fence(
				memory_order_seq_cst); /* a handler reads the path of what is open */
			files[i].open = 1;
			return;
		}
}

void interrupt_forgets(const char *path)
{
	for (int i = 0; i < FILES_MOST; i++)
		if (files[i].open && strcmp(files[i].path, path) == 0)
			files[i].open = 0;
}
